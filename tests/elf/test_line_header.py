"""The header of a line program, by hand after DWARF 5, section 6.2.4: counts that no bytes stand behind are refused.

What the assembler writes is accepted: `readelf --debug-dump=rawline` shows the same tables (the bytes are gcc's -g -c).
"""

from __future__ import annotations

import pytest

from abiscan.elf.line_header import tables_fit

UDATA, STRING = 0x0F, 0x08


def header(directories: bytes, files: bytes, version: int = 5) -> bytes:
    """A header with these two tables; twelve standard opcodes."""
    body = bytes([1, 1, 1, 0xFB, 14, 13]) + bytes(12) + directories + files
    rest = version.to_bytes(2, "little") + bytes([8, 0]) + len(body).to_bytes(4, "little") + body
    return len(rest).to_bytes(4, "little") + rest


DIRECTORIES = bytes([1, 1, STRING, 1]) + b"/src\0"
FILES = bytes([2, 1, STRING, 2, UDATA, 1]) + b"a.c\0" + bytes([0])
MANY = b"\xff" * 9 + b"\x01"


@pytest.mark.parametrize(
    ("tables", "fit"),
    [
        ((DIRECTORIES, FILES), True),
        ((bytes([0, 0]), bytes([0, 0])), True),
        # 2**64 - 1 entries of no byte each: a reader that counts them does not come back.
        ((bytes([0]) + MANY, FILES), False),
        ((DIRECTORIES, bytes([0]) + MANY), False),
        ((bytes([1, 1, UDATA]) + MANY, FILES), False),
        ((bytes([1, 1, STRING, 1]) + b"no end", b""), False),
        ((bytes([1, 1, 0x7F, 1]), FILES), False),
    ],
)
def test_tables(tables: tuple[bytes, bytes], fit: bool) -> None:
    assert tables_fit(header(*tables), 0) is fit


def test_headers_without_counts_are_read_to_their_end() -> None:
    assert tables_fit(header(b"", b"", version=4), 0)


def test_a_header_outside_of_the_section() -> None:
    assert not tables_fit(header(DIRECTORIES, FILES)[:20], 0)
