"""Numbers of variable length (LEB128) in the tables of dyld."""

from __future__ import annotations


class DamagedTableError(ValueError):
    """A table of dyld is truncated or invalid; the text is for a message."""


def read_uleb(data: bytes, at: int) -> tuple[int, int]:
    """(value, next offset) of an unsigned number of at most ten bytes.

    Raises:
        DamagedTableError: it is longer, or truncated.
    """
    value = 0
    end = len(data)
    for shift in range(0, 70, 7):
        if at >= end:
            raise DamagedTableError("a number ends outside")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise DamagedTableError("a number of more than ten bytes")


def read_name(data: bytes, at: int) -> tuple[bytes, int]:
    """(name, offset after its zero byte).

    Raises:
        DamagedTableError: there is no zero byte.
    """
    end = data.find(b"\0", at)
    if end < 0:
        raise DamagedTableError("a name ends outside")
    return data[at:end], end + 1
