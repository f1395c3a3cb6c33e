"""Sizes of records, from debug information: DW_AT_byte_size of the classes that a file was compiled with (DWARF 5,
sections 5.7 and 7.5; versions 2 to 5).

Entries are walked in order and nearly all are stepped over; where DW_AT_sibling tells where one ends, with all that is
inside of it. A file has tens of thousands of them and some hundred abbreviations, so that how to come over an entry is
found once for each abbreviation that is met. Sections that lie in another file are not read.
"""

from __future__ import annotations

import contextlib
import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, Literal, Self

from msgspec import Struct

from abiscan.elf.debug_sections import debug_sections
from abiscan.model.limits import MAX_DEBUG

if TYPE_CHECKING:
    from abiscan.elf.file import ElfFile

# Entries, attributes of abbreviations, and numbers of many bytes that are looked at in one file; some 1 s.
MAX_STEPS: Final = 1 << 19

_CLASS, _STRUCTURE, _UNION, NAMESPACE = 0x02, 0x13, 0x17, 0x39
RECORDS = frozenset({_CLASS, _STRUCTURE, _UNION})
_SIBLING, _NAME, _BYTE_SIZE, _DECLARATION, SPECIFICATION, _STR_OFFSETS_BASE = 0x01, 0x03, 0x0B, 0x3C, 0x47, 0x72
LOCATION, TYPE = 0x38, 0x49
# Attributes whose values are read.
_READ: Final = frozenset({_SIBLING, _NAME, _BYTE_SIZE, _DECLARATION, SPECIFICATION, _STR_OFFSETS_BASE, TYPE})
# DW_UT_type and DW_UT_split_type have a signature and an offset, DW_UT_skeleton and DW_UT_split_compile an identity.
_TYPE_UNITS, _SPLIT_UNITS = frozenset({2, 6}), frozenset({4, 5})

# DW_FORM_* (section 7.5.6) by their size: of so many bytes, of an offset's, a number of many bytes (LEB128) ...
_FIXED = {
    0x05: 2,
    0x06: 4,
    0x07: 8,
    0x0B: 1,
    0x0C: 1,
    0x11: 1,
    0x12: 2,
    0x13: 4,
    0x14: 8,
    0x19: 0,
    0x1C: 4,
    0x1E: 16,
    0x20: 8,
    0x21: 0,
    0x24: 8,
    0x25: 1,
    0x26: 2,
    0x27: 3,
    0x28: 4,
    0x29: 1,
    0x2A: 2,
    0x2B: 3,
    0x2C: 4,
}
_OFFSETS = frozenset({0x0E, 0x17, 0x1D, 0x1F, 0x1F20, 0x1F21})
_NUMBERS = frozenset({0x0D, 0x0F, 0x15, 0x1A, 0x1B, 0x22, 0x23, 0x1F01, 0x1F02})
# ... or with a length before them: of so many bytes, 0 for a number of many.
_BLOCKS = {0x03: 2, 0x04: 4, 0x09: 0, 0x0A: 1, 0x18: 0}
_ADDRESS, _REF_ADDR, _STRING, _STRP, _LINE_STRP, _IMPLICIT = 0x01, 0x10, 0x08, 0x0E, 0x1F, 0x21
_STRX = frozenset({0x1A, 0x25, 0x26, 0x27, 0x28, 0x1F02})


# A name that is read, in bytes.
_MOST_NAME: Final = 4096


class Damaged(Exception):  # noqa: N818 - of the section, and the way out of it
    """It does not hold what it says, or has more than is read."""


class Fixed(Struct):
    """Values of fixed sizes.

    Attributes:
        numbers: those of `_READ` that have bytes.
        given: (attribute, form) of each of them.
        constant: the others, by attribute: form and number.
    """

    numbers: struct.Struct
    given: tuple[tuple[int, int], ...]
    constant: dict[int, tuple[int, int]]


class Entry(Struct):
    """An abbreviation.

    Attributes:
        is_looked_at: its tag is one of `Walk.looked_at`.
        forms: (attribute, form, constant) in their order.
        steps: how to come over each value: bytes, or a form.
        leap: the same over all of it, with bytes that follow each other together.
        sibling_at: bytes before DW_AT_sibling, where that has four bytes and all before it are of fixed sizes; else -1.
        fixed: its values, where all are of fixed sizes.
    """

    tag: int
    is_looked_at: bool
    children: bool
    forms: tuple[tuple[int, int, int], ...]
    steps: tuple[tuple[int, int], ...]
    leap: tuple[tuple[int, int], ...]
    sibling: bool
    sibling_at: int
    fixed: Fixed | None

    @property
    def quick(self) -> int:
        """How an entry of this abbreviation is passed whose code is one byte, where nothing in it is looked at: how
        many bytes it has, negative the bytes before DW_AT_sibling, 0 where it takes more."""
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
        declared: tag, DW_CHILDREN and forms by code.
        entries: those that were met, by code.
        quick: `Entry.quick` by the first byte of an entry; 0 for what was not met, and for a code of several bytes.
        sizes: bytes of an offset, of an address, of DW_FORM_ref_addr.
    """

    declared: dict[int, tuple[int, bool, tuple[tuple[int, int, int], ...]]]
    sizes: tuple[int, int, int]
    entries: dict[int, Entry]
    quick: list[int]


def record_sizes(elf: ElfFile, wanted: Collection[str]) -> dict[str, int]:
    """Size in bytes of those of the records (qualified names) that the debug information has, where all of it that is
    read agrees.

    What is damaged, or larger than is read, yields what was read until then.
    """
    walk = Walk.of(elf, wanted)
    return {name: sizes[0] for name, sizes in walk.sizes.items() if len(sizes) == 1} if walk is not None else {}


_SECTIONS = (
    b".debug_info",
    b".debug_types",
    b".debug_abbrev",
    b".debug_str",
    b".debug_line_str",
    b".debug_str_offsets",
)


class Walk:
    """A walk over all entries.

    Attributes:
        looked_at: tags of entries that are visited, within a scope that is looked at.
        declared: the wanted records of the unit, by their place.

    Args:
        data: the contents of `_SECTIONS`.
        wanted: qualified names of records.
    """

    looked_at = RECORDS | {NAMESPACE}

    def __init__(self, data: list[memoryview], order: Literal["little", "big"], wanted: Collection[str]) -> None:
        self._parts = data[:2]
        self._info = data[0]
        self._abbreviations, self._strings, self._line_strings, self._str_offsets = data[2:]
        self._order: Literal["little", "big"] = order
        self._wanted = frozenset(wanted)
        # The scopes that hold one: "c10" and "c10::impl" of c10::impl::OperatorEntry.
        self._scopes = frozenset(_scopes_of(wanted))
        self._left = MAX_STEPS
        self._sibling = struct.Struct("<I" if order == "little" else ">I")
        self._tables: dict[tuple[int, int, int, int], Abbreviations] = {}
        self.sizes: dict[str, list[int]] = {}
        self.declared: dict[int, str] = {}
        self._unit_at = 0, 0, Abbreviations({}, (0, 0, 0), {}, []), 0

    @classmethod
    def of(cls, elf: ElfFile, wanted: Collection[str], foreign: tuple[str, ...] = ()) -> Self | None:
        """The walk over a file's entries, done; None where it has none that are read.

        Args:
            foreign: of `prepare`.
        """
        data = debug_sections(elf, _SECTIONS, MAX_DEBUG)
        if data is None or not data[0]:
            return None
        walk = cls(data, "little" if elf.image.little_endian else "big", wanted)
        walk.prepare(foreign)
        with contextlib.suppress(Damaged, IndexError, struct.error):
            walk.run()
        return walk

    def prepare(self, foreign: tuple[str, ...]) -> None:
        """Before it begins."""

    def run(self) -> None:
        """Walk the units of .debug_info, and those of version 4 in .debug_types."""
        for part in self._parts:
            self._info = part
            at = 0
            while at + 11 < len(part):
                at = self._unit(at, in_types=part is not self._parts[0])

    def _spend(self, steps: int = 1) -> None:
        self._left -= steps
        if self._left < 0:
            raise Damaged("more than is read")

    def _number(self, data: memoryview, at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], self._order)

    def _unit(self, start: int, *, in_types: bool) -> int:
        """Walk one unit; the place behind it."""
        info = self._info
        length, at, word = self._number(info, start, 4), start + 4, 4
        if length == 0xFFFFFFFF:
            length, at, word = self._number(info, at, 8), at + 8, 8
        end = at + length
        version = self._number(info, at, 2)
        if end > len(info) or not 2 <= version <= 5:
            raise Damaged(f"a unit of version {version}")
        at += 2
        kind = 0
        if version == 5:
            kind, address = info[at], info[at + 1]
            table = self._number(info, at + 2, word)
            at += 2 + word
            at += 8 if kind in _SPLIT_UNITS else 0
        else:
            table = self._number(info, at, word)
            address = info[at + word]
            at += word + 1
        signature = None
        if in_types or kind in _TYPE_UNITS:
            signature = self._number(info, at, 8), self._number(info, at + 8, word)
            at += 8 + word
        self._spend()
        reference = address if version == 2 else word
        self._entries(start, at, end, self._table(table, word, address, reference), word)
        self.end_unit(signature)
        return end

    def _table(self, offset: int, word: int, address: int, reference: int) -> Abbreviations:
        """The abbreviations at an offset."""
        key = (offset, word, address, reference)
        known = self._tables.get(key)
        if known is not None:
            return known
        data, at = self._abbreviations, offset
        declared = {}
        while True:
            code, at = self._uleb(data, at)
            if not code:
                break
            tag, at = self._uleb(data, at)
            children, at = bool(data[at]), at + 1
            forms = []
            while True:
                attribute, form = data[at], data[at + 1]
                # Nearly all are below.
                if attribute >= 0x80 or form >= 0x80:
                    attribute, at = self._uleb(data, at)
                    form, at = self._uleb(data, at)
                else:
                    at += 2
                constant = 0
                if form == _IMPLICIT:
                    constant, at = self._uleb(data, at)
                if not attribute and not form:
                    break
                forms.append((attribute, form, constant))
            self._spend(len(forms) + 1)
            declared[code] = tag, children, tuple(forms)
        found = Abbreviations(declared, (word, address, reference), {}, [0] * 256)
        self._tables[key] = found
        return found

    def _entry(self, table: Abbreviations, code: int) -> Entry | None:
        """The abbreviation of a code; None for what is none."""
        known = table.entries.get(code)
        if known is not None or code not in table.declared:
            return known
        tag, children, forms = table.declared[code]
        steps = tuple(_steps((form for _a, form, _c in forms), *table.sizes))
        sibling = any(attribute == _SIBLING for attribute, _form, _constant in forms)
        before = _bytes_before_sibling(forms, steps)
        leap = tuple(_together(steps))
        fixed = _fixed(forms, steps, self._sibling.format[:1])
        found = Entry(tag, tag in self.looked_at, children, forms, steps, leap, sibling, before, fixed)
        table.entries[code] = found
        if code < 0x80:
            table.quick[code] = found.quick
        return found

    def _entries(self, start: int, at: int, end: int, table: Abbreviations, word: int) -> None:
        """The entries of a unit (section 7.5.2).

        `scopes` has the qualified name of each entry that is open; None for one in which nothing is looked for.
        """
        info = self._info
        self._unit_at = start, end, table, word
        scopes: list[str | None] = []
        self.declared.clear()
        base = 8 if word == 4 else 16
        while at < end:
            if scopes:
                at = self._pass(start, at, end, table.quick)
                if at >= end:
                    return
            self._spend()
            place = at - start
            code = info[at]
            at += 1
            if code >= 0x80:
                code, at = self._uleb(info, at - 1)
            if not code:
                if not scopes:
                    return
                scopes.pop()
                if not scopes:
                    return
                continue
            entry = self._entry(table, code)
            if entry is None:
                raise Damaged(f"no abbreviation {code}")
            scope: str | None = None
            outer = scopes[-1] if scopes else None
            is_looked_at = outer is not None and entry.is_looked_at
            if scopes and not is_looked_at and entry.children and entry.sibling_at >= 0:
                following = start + self._number(info, at + entry.sibling_at, 4)
                if at < following < end:
                    at = following
                    continue
            if not scopes or is_looked_at or (entry.sibling and entry.children):
                values, at = self._values(info, at, entry, word)
                if not scopes:
                    scope = ""
                    base = values.get(_STR_OFFSETS_BASE, (0, base))[1]
                elif outer is not None and is_looked_at:
                    text = self._text(*values[_NAME], word, base) if _NAME in values else ""
                    scope = self.visit(entry, place, outer, text, values)
                following = start + values.get(_SIBLING, (0, 0))[1]
                if scopes and scope is None and entry.children and at < following < end:
                    at = following
                    continue
            else:
                at = self._over(info, at, entry.leap)
            if entry.children:
                scopes.append(scope)
            elif not scopes:
                return

    def _pass(self, start: int, at: int, end: int, quick: list[int]) -> int:
        """The next entry that takes more than a look at its code: with a loop of its own, since nearly all take no
        more."""
        info, left, sibling = self._info, self._left, self._sibling.unpack_from
        while at < end:
            size = quick[info[at]]
            if size > 0:
                at += size
            elif size:
                following = start + sibling(info, at - size)[0]
                if not at < following < end:
                    break
                at = following
            else:
                break
            left -= 1
            if left < 0:
                break
        self._left = left
        self._spend(0)
        return at

    def entry_at(self, place: int) -> tuple[Entry | None, dict[int, tuple[int, int]]]:
        """An entry of the unit that is walked, and its values; None for what is none."""
        start, end, table, word = self._unit_at
        self._spend()
        if not 0 < place < end - start:
            return None, {}
        code, at = self._uleb(self._info, start + place)
        entry = self._entry(table, code)
        return (None, {}) if entry is None else (entry, self._values(self._info, at, entry, word)[0])

    def visit(self, entry: Entry, place: int, outer: str, text: str, values: dict[int, tuple[int, int]]) -> str | None:
        """Take an entry of `looked_at`.

        Args:
            place: from the start of the unit.
            outer, text: the qualified name of the scope that it stands in; its own name, empty for none.

        Returns:
            The scope that it opens; None where nothing in it is looked at.
        """
        if not text:
            return None
        name = self.declared.get(values.get(SPECIFICATION, (0, 0))[1], f"{outer}::{text}" if outer else text)
        if entry.tag in RECORDS and name in self._wanted:
            self.declared[place] = name
            self._note(name, values)
        return name if name in self._scopes else None

    def end_unit(self, signature: tuple[int, int] | None) -> None:
        """A unit is through.

        Args:
            signature: of a unit of a type the type's signature, and its place.
        """

    def _note(self, record: str, values: dict[int, tuple[int, int]]) -> None:
        """Keep its size, if this is the whole of it."""
        if _BYTE_SIZE in values and _DECLARATION not in values:
            sizes = self.sizes.setdefault(record, [])
            if values[_BYTE_SIZE][1] not in sizes and len(sizes) < 2:
                sizes.append(values[_BYTE_SIZE][1])

    def _values(self, info: memoryview, at: int, entry: Entry, word: int) -> tuple[dict[int, tuple[int, int]], int]:
        """The numbers among the values of `_READ` in an entry, by attribute: form and number, of a text its place; and
        the end."""
        if entry.fixed is not None:
            numbers = entry.fixed.numbers
            found = dict(entry.fixed.constant)
            for (attribute, form), number in zip(entry.fixed.given, numbers.unpack_from(info, at), strict=True):
                found[attribute] = form, number
            return found, at + numbers.size
        found = {}
        for (attribute, form, constant), (size, kind) in zip(entry.forms, entry.steps, strict=True):
            if attribute not in _READ:
                pass
            elif form == _IMPLICIT:
                found[attribute] = form, constant
            elif form == _STRING:
                found[attribute] = form, at
            elif not kind and size <= 8:
                found[attribute] = form, self._number(info, at, size) if size else 1
            elif form in _NUMBERS:
                found[attribute] = form, self._uleb(info, at)[0]
            at = self._over(info, at, ((size, kind),))
        return found, at

    def _over(self, info: memoryview, at: int, steps: tuple[tuple[int, int], ...]) -> int:
        """The place behind values."""
        for size, kind in steps:
            if not kind:
                at += size
            elif kind in _NUMBERS:
                while info[at] >= 0x80:
                    at += 1
                    self._spend()
                at += 1
            elif kind == _STRING:
                at = _end_of_text(info, at) + 1
            else:
                width = _BLOCKS[kind]
                if width:
                    length, at = self._number(info, at, width), at + width
                else:
                    length, at = self._uleb(info, at)
                at += length
        return at

    def _text(self, form: int, value: int, word: int, base: int) -> str:
        data, at = self._strings, value
        if form == _STRING:
            data = self._info
        elif form == _LINE_STRP:
            data = self._line_strings
        elif form in _STRX:
            at = self._number(self._str_offsets, base + value * word, word)
        elif form != _STRP:
            return ""
        text, end, _rest = bytes(data[at : at + _MOST_NAME]).partition(b"\0")
        return text.decode("utf-8", "replace") if end else ""

    def _uleb(self, data: memoryview, at: int) -> tuple[int, int]:
        """(value, place behind it) of a LEB128 of at most ten bytes (section 7.6)."""
        value = 0
        for shift in range(0, 70, 7):
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value, at
        raise Damaged("a number of more than ten bytes")


def _end_of_text(data: memoryview, at: int) -> int:
    """The place of the zero byte that ends a text."""
    length = _MOST_NAME
    while True:
        end = bytes(data[at : at + length]).find(b"\0")
        if end >= 0:
            return at + end
        if at + length >= len(data):
            raise Damaged("a text without an end")
        length *= 16


def _steps(forms: Iterator[int], word: int, address: int, reference: int) -> Iterator[tuple[int, int]]:
    """(bytes, 0) or (0, form) of each form."""
    for form in forms:
        if form in _FIXED:
            yield _FIXED[form], 0
        elif form in _OFFSETS:
            yield word, 0
        elif form in (_ADDRESS, _REF_ADDR):
            yield address if form == _ADDRESS else reference, 0
        elif form in _NUMBERS or form in _BLOCKS or form == _STRING:
            yield 0, form
        else:
            raise Damaged(f"a value of form {form:#x}")


_CODES: Final = {1: "B", 2: "H", 4: "I", 8: "Q"}


def _fixed(forms: Sequence[tuple[int, int, int]], steps: Sequence[tuple[int, int]], order: str) -> Fixed | None:
    """How to read the values of an abbreviation at once; None where one is of no fixed size, or a number of three
    bytes.

    Args:
        order: of bytes, for `struct`.
    """
    codes, given, constant = [order], [], {}
    for (attribute, form, number), (size, kind) in zip(forms, steps, strict=True):
        if kind:
            return None
        if attribute not in _READ or size > 8:
            codes.append(f"{size}x")
        elif not size:
            constant[attribute] = form, number if form == _IMPLICIT else 1
        elif size not in _CODES:
            return None
        else:
            codes.append(_CODES[size])
            given.append((attribute, form))
    return Fixed(struct.Struct("".join(codes)), tuple(given), constant)


def _scopes_of(names: Iterable[str]) -> Iterator[str]:
    """The scopes that hold one: "c10" and "c10::impl" of c10::impl::OperatorEntry."""
    for name in names:
        at = name.find("::")
        while at >= 0 and "<" not in name[:at]:
            yield name[:at]
            at = name.find("::", at + 1)


def _bytes_before_sibling(forms: Sequence[tuple[int, int, int]], steps: Sequence[tuple[int, int]]) -> int:
    size = 0
    for (attribute, _form, _constant), (width, kind) in zip(forms, steps, strict=True):
        if attribute == _SIBLING:
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
