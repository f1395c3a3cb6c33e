"""Whether the tables of a line program's header are as long as they say: a count is 64 bits wide, and an entry may
have no byte, so that a reader that trusts it does not come back (DWARF 5, section 6.2.4)."""

from __future__ import annotations

from typing import Literal

# Bytes of the forms that a directory or file entry may have (DWARF 5, section 6.2.4.1 and 7.5.6); `w` is the size of an
# offset.
_FIXED = {0x0B: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1E: 16, 0x25: 1, 0x26: 2, 0x27: 3, 0x28: 4}
_OFFSETS = frozenset({0x0E, 0x1F})
_STRING, _UDATA, _BLOCK, _STRX = 0x08, 0x0F, 0x09, 0x1A


class _Cut(Exception):  # noqa: N818 - the way out of a table that does not fit
    pass


def tables_fit(data: bytes, offset: int, *, little_endian: bool = True) -> bool:
    """Whether the directories and files of the header at `offset` of .debug_line lie within it.

    Headers before version 5 have no counts and always do.
    """
    order: Literal["little", "big"] = "little" if little_endian else "big"
    length = int.from_bytes(data[offset : offset + 4], order)
    wide = length == 0xFFFFFFFF
    at = offset + (12 if wide else 4)
    if wide:
        length = int.from_bytes(data[offset + 4 : at], order)
    end = min(at + length, len(data))
    if int.from_bytes(data[at : at + 2], order) < 5:
        return True
    # Version, sizes of an address and a selector, length of the header, then five bytes and the opcodes' lengths.
    at += 4 + (8 if wide else 4) + 5
    try:
        at = _within(at + data[at], end)  # opcode_base counts itself
        for _table in range(2):
            at = _skip_table(data, at, end, 8 if wide else 4)
    except (_Cut, IndexError):
        return False
    return True


def _skip_table(data: bytes, at: int, end: int, word: int) -> int:
    forms = []
    count = data[at]
    at += 1
    for _field in range(count):
        _content, at = _uleb(data, at, end)
        form, at = _uleb(data, at, end)
        forms.append(form)
    entries, at = _uleb(data, at, end)
    if entries > end - at or (entries and not forms):
        raise _Cut
    for _entry in range(entries):
        for form in forms:
            at = _skip(data, at, end, form, word)
    return at


def _skip(data: bytes, at: int, end: int, form: int, word: int) -> int:
    if form in _FIXED:
        return _within(at + _FIXED[form], end)
    if form in _OFFSETS:
        return _within(at + word, end)
    if form == _STRING:
        found = data.find(b"\0", at, end)
        if found < 0:
            raise _Cut
        return found + 1
    if form in (_UDATA, _STRX):
        return _uleb(data, at, end)[1]
    if form == _BLOCK:
        size, at = _uleb(data, at, end)
        return _within(at + size, end)
    raise _Cut  # no producer writes another


def _within(at: int, end: int) -> int:
    if at > end:
        raise _Cut
    return at


def _uleb(data: bytes, at: int, end: int) -> tuple[int, int]:
    """(value, place behind it) of a LEB128 of at most ten bytes (DWARF 5, section 7.6)."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= end:
            raise _Cut
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value, at
    raise _Cut
