"""Abbreviations of debug information: the attributes of an entry and how to skip it (DWARF 5, sections 7.5.3 and 7.5.6;
versions 2 to 5)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, Literal

from msgspec import Struct

SIBLING, NAME, BYTE_SIZE, DECLARATION, SPECIFICATION, STR_OFFSETS_BASE = 0x01, 0x03, 0x0B, 0x3C, 0x47, 0x72
LOCATION, TYPE, LINE_PROGRAM = 0x38, 0x49, 0x10
# Attributes whose values are read.
READ: Final = frozenset({SIBLING, NAME, BYTE_SIZE, DECLARATION, SPECIFICATION, STR_OFFSETS_BASE, TYPE, LINE_PROGRAM})

# DW_FORM_* (section 7.5.6) by size: a fixed number of bytes, the size of an offset, a LEB128 number ...
_FORMS_OF_SIZE = {
    0: (0x19, 0x21),
    1: (0x0B, 0x0C, 0x11, 0x25, 0x29),
    2: (0x05, 0x12, 0x26, 0x2A),
    3: (0x27, 0x2B),
    4: (0x06, 0x13, 0x1C, 0x28, 0x2C),
    8: (0x07, 0x14, 0x20, 0x24),
    16: (0x1E,),
}
_FIXED = {form: size for size, forms in _FORMS_OF_SIZE.items() for form in forms}
_OFFSETS = frozenset({0x0E, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21})
NUMBERS = frozenset({0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02})
# ... or prefixed with a length: size of the length in bytes, 0 for a LEB128 number.
BLOCKS = {0x03: 2, 0x04: 4, 0x09: 0, 0x0A: 1, 0x18: 0}
_ADDRESS, _REF_ADDR, STRING, STRP, LINE_STRP, IMPLICIT = 0x01, 0x10, 0x08, 0x0E, 0x1F, 0x21
STRX = frozenset({0x1A, 0x25, 0x26, 0x27, 0x28, 0x1F02})


class DamagedEntries(Exception):  # noqa: N818 - describes the section, and ends the walk
    """The debug entries are damaged, or more than the limit."""


class DebugEntry(Struct):
    """An abbreviation.

    Attributes:
        is_looked_at: whether its tag is in `EntryWalk.looked_at`.
        forms: (attribute, form, constant) in order.
        steps: how to skip each value: (bytes, 0) or (0, form).
        leap: `steps` with adjacent byte counts added up.
        sibling_at: offset of DW_AT_sibling in bytes if it has four bytes and all attributes before it are of fixed
            size; otherwise -1.
    """

    tag: int
    is_looked_at: bool
    children: bool
    forms: tuple[tuple[int, int, int], ...]
    steps: tuple[tuple[int, int], ...]
    leap: tuple[tuple[int, int], ...]
    sibling: bool
    sibling_at: int

    @property
    def quick(self) -> int:
        """How to skip an entry of this abbreviation with a one-byte code that is not looked at: its size in bytes, or
        minus the offset of DW_AT_sibling, or 0 if neither is known."""
        if self.is_looked_at:
            return 0
        if self.children:
            return -1 - self.sibling_at if self.sibling_at >= 0 else 0
        if not self.leap:
            return 1
        (size, kind), *more = self.leap
        return 0 if kind or more else 1 + size


class Abbreviations(Struct):
    """The abbreviations of a unit (section 7.5.3).

    Attributes:
        declared: code to tag, DW_CHILDREN and forms.
        entries: code to abbreviation, for those already used.
        quick: `DebugEntry.quick` by the first byte of an entry; 0 for unused codes and for codes of several bytes.
        sizes: sizes of an offset, an address and DW_FORM_ref_addr, in bytes.
    """

    declared: dict[int, tuple[int, bool, tuple[tuple[int, int, int], ...]]]
    sizes: tuple[int, int, int]
    entries: dict[int, DebugEntry]
    quick: list[int]


def uleb(data: bytes | memoryview, at: int) -> tuple[int, int]:
    """(value, offset after it) of a LEB128 number of at most ten bytes (section 7.6).

    Raises:
        DamagedEntries: it is longer.
    """
    byte = data[at]
    if byte < 0x80:  # nearly all
        return byte, at + 1
    value = byte & 0x7F
    for shift in range(7, 70, 7):
        at += 1
        byte = data[at]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at + 1
    raise DamagedEntries("a number of more than ten bytes")


def text_end(data: bytes | memoryview, at: int) -> int:
    """The offset of the zero byte that ends a text; -1 without one. Nearly all texts are short."""
    length = 256
    while at < len(data):
        end = bytes(data[at : at + length]).find(b"\0")
        if end >= 0:
            return at + end
        at, length = at + length, 16 * length
    return -1


def initial_length(data: bytes | memoryview, at: int, order: Literal["little", "big"]) -> tuple[int, int, int]:
    """(length of what follows, its offset, size of an offset in bytes) of a unit or table (section 7.4)."""
    length = int.from_bytes(data[at : at + 4], order)
    if length == 0xFFFFFFFF:
        return int.from_bytes(data[at + 4 : at + 12], order), at + 12, 8
    return length, at + 4, 4


def read_abbreviations(data: memoryview, at: int) -> Iterator[tuple[int, int, bool, tuple[tuple[int, int, int], ...]]]:
    """Code, tag, DW_CHILDREN and forms (see `DebugEntry`) of each abbreviation of a table in .debug_abbrev.

    Raises:
        DamagedEntries, IndexError: the table does not end, or a number in it is invalid.
    """
    while True:
        code, at = uleb(data, at)
        if not code:
            return
        tag, at = uleb(data, at)
        children, at = bool(data[at]), at + 1
        forms = []
        while True:
            attribute, form = data[at], data[at + 1]
            # Nearly all are smaller.
            if attribute >= 0x80 or form >= 0x80:
                attribute, at = uleb(data, at)
                form, at = uleb(data, at)
            else:
                at += 2
            constant = 0
            if form == IMPLICIT:
                constant, at = uleb(data, at)
            if not attribute and not form:
                break
            forms.append((attribute, form, constant))
        yield code, tag, children, tuple(forms)


def make_entry(table: Abbreviations, code: int, looked_at: Collection[int]) -> DebugEntry:
    """Build the abbreviation of a code that `table` declares.

    Args:
        looked_at: tags of entries that are looked at.

    Raises:
        DamagedEntries: a form is unknown.
    """
    tag, children, forms = table.declared[code]
    steps = tuple(_steps((form for _a, form, _c in forms), *table.sizes))
    sibling = any(attribute == SIBLING for attribute, _form, _constant in forms)
    before = _bytes_before_sibling(forms, steps)
    leap = tuple(_together(steps))
    return DebugEntry(tag, tag in looked_at, children, forms, steps, leap, sibling, before)


def _steps(forms: Iterator[int], word: int, address: int, reference: int) -> Iterator[tuple[int, int]]:
    """(bytes, 0) or (0, form) of each form."""
    for form in forms:
        if form in _FIXED:
            yield _FIXED[form], 0
        elif form in _OFFSETS:
            yield word, 0
        elif form in (_ADDRESS, _REF_ADDR):
            yield address if form == _ADDRESS else reference, 0
        elif form in NUMBERS or form in BLOCKS or form == STRING:
            yield 0, form
        else:
            raise DamagedEntries(f"a value of form {form:#x}")


def _bytes_before_sibling(forms: Sequence[tuple[int, int, int]], steps: Sequence[tuple[int, int]]) -> int:
    size = 0
    for (attribute, _form, _constant), (width, kind) in zip(forms, steps, strict=True):
        if attribute == SIBLING:
            return size if (width, kind) == (4, 0) else -1
        if kind:
            return -1
        size += width
    return -1


def _together(steps: tuple[tuple[int, int], ...]) -> Iterator[tuple[int, int]]:
    size = 0
    for each, kind in steps:
        size += each
        if kind:
            if size:
                yield size, 0
            yield 0, kind
            size = 0
    if size:
        yield size, 0
