"""A walk over the entries of debug information (DWARF 5, section 7.5; versions 2 to 5).

Entries are walked in order and nearly all are skipped, with all their children if DW_AT_sibling has their end. A file
has tens of thousands of entries and some hundred abbreviations, so how to skip an entry is computed once for each
abbreviation. Sections in another file are not read.

pyelftools is not used for this: it is ten times slower. Sizes of five records took 0.008 s of CPU time here and 0.125 s
with it in an extension of torch with one source file (0.75 MB of .debug_info), 0.8 s and 7.7 s in libpython 3.13
(15.7 MB), where SECURITY.md allows 2 s. Of 2,000 files with damaged .debug_info, .debug_abbrev or .debug_aranges it
read one for more than 10 s, and it has no limit that would end this (pyelftools 0.33, CPython 3.11).
"""

from __future__ import annotations

import contextlib
import struct
from typing import Final, Literal

from abiscan.elf.abbreviations import (
    BLOCKS,
    IMPLICIT,
    LINE_STRP,
    NAME,
    NUMBERS,
    READ,
    SIBLING,
    STR_OFFSETS_BASE,
    STRING,
    STRP,
    STRX,
    Abbreviations,
    DamagedEntries,
    DebugEntry,
    initial_length,
    make_entry,
    read_abbreviations,
    text_end,
    uleb,
)

# Limit for entries, attributes of abbreviations and LEB128 bytes of one file; about 1 s.
MAX_STEPS: Final = 1 << 19

# DW_UT_type and DW_UT_split_type have a signature and an offset, DW_UT_skeleton and DW_UT_split_compile an id.
_TYPE_UNITS, _SPLIT_UNITS = frozenset({2, 6}), frozenset({4, 5})

# Maximum length of a name, in bytes.
_MOST_NAME: Final = 4096

# Sections that a walk reads; only the first is required.
SECTIONS = (b".debug_info", b".debug_types", b".debug_abbrev", b".debug_str", b".debug_line_str", b".debug_str_offsets")


class EntryWalk:
    """A walk over all entries.

    Attributes:
        looked_at: tags of entries that are visited, within a scope that is visited.

    Args:
        data: the contents of `SECTIONS`.
        order: byte order.
    """

    looked_at: frozenset[int] = frozenset()

    def __init__(self, data: list[memoryview], order: Literal["little", "big"]) -> None:
        self._parts = data[:2]
        self._info = data[0]
        self._abbreviations, self._strings, self._line_strings, self._str_offsets = data[2:]
        self._order: Literal["little", "big"] = order
        self._left = MAX_STEPS
        self._sibling = struct.Struct("<I" if order == "little" else ">I")
        self._tables: dict[tuple[int, int, int, int], Abbreviations] = {}
        self._unit_at = 0, 0, Abbreviations({}, (0, 0, 0), {}, []), 0
        self._text_offsets = 0

    def run(self) -> None:
        """Walk the units of .debug_info, and those of version 4 in .debug_types, until damage or a limit ends the
        walk."""
        with contextlib.suppress(DamagedEntries, IndexError, struct.error):
            for part in self._parts:
                self._info = part
                at = 0
                while at + 11 < len(part):
                    at = self._unit(at, in_types=part is not self._parts[0])

    def _spend(self, steps: int = 1) -> None:
        self._left -= steps
        if self._left < 0:
            raise DamagedEntries("more than is read")

    def _number(self, data: memoryview, at: int, size: int) -> int:
        return int.from_bytes(data[at : at + size], self._order)

    def _unit(self, start: int, *, in_types: bool) -> int:
        """Walk one unit; returns the offset after it."""
        info = self._info
        length, at, word = initial_length(info, start, self._order)
        end = at + length
        version = self._number(info, at, 2)
        if end > len(info) or not 2 <= version <= 5:
            raise DamagedEntries(f"a unit of version {version}")
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
        declared = {}
        for code, tag, children, forms in read_abbreviations(self._abbreviations, offset):
            self._spend(len(forms) + 1)
            declared[code] = tag, children, forms
        found = Abbreviations(declared, (word, address, reference), {}, [0] * 256)
        self._tables[key] = found
        return found

    def _entry(self, table: Abbreviations, code: int) -> DebugEntry | None:
        """The abbreviation of a code; None if it is not declared."""
        known = table.entries.get(code)
        if known is not None or code not in table.declared:
            return known
        found = make_entry(table, code, self.looked_at)
        table.entries[code] = found
        if code < 0x80:
            table.quick[code] = found.quick
        return found

    def _entries(self, start: int, at: int, end: int, table: Abbreviations, word: int) -> None:
        """Walk the entries of a unit (section 7.5.2).

        `scopes` has the qualified name of each open entry; None for one whose children are not visited.
        """
        info = self._info
        self._unit_at = start, end, table, word
        scopes: list[str | None] = []
        self._text_offsets = 8 if word == 4 else 16
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
                code, at = uleb(info, at - 1)
            if not code:
                if not scopes:
                    return
                scopes.pop()
                if not scopes:
                    return
                continue
            entry = self._entry(table, code)
            if entry is None:
                raise DamagedEntries(f"no abbreviation {code}")
            scope: str | None = None
            outer = scopes[-1] if scopes else None
            is_looked_at = outer is not None and entry.is_looked_at
            if scopes and not is_looked_at and entry.children and entry.sibling_at >= 0:
                following = start + self._number(info, at + entry.sibling_at, 4)
                if at < following < end:
                    at = following
                    continue
            if not scopes or is_looked_at or (entry.sibling and entry.children):
                values, at = self._values(info, at, entry)
                if not scopes:
                    scope = ""
                    self._text_offsets = values.get(STR_OFFSETS_BASE, (0, self._text_offsets))[1]
                elif outer is not None and is_looked_at:
                    text = self.text_of(*values[NAME]) if NAME in values else ""
                    scope = self.visit(entry, place, outer, text, values)
                following = start + values.get(SIBLING, (0, 0))[1]
                if scopes and scope is None and entry.children and at < following < end:
                    at = following
                    continue
            else:
                at = self._skip_attributes(info, at, entry.leap)
            if entry.children:
                scopes.append(scope)
            elif not scopes:
                return

    def _pass(self, start: int, at: int, end: int, quick: list[int]) -> int:
        """Skip entries by their code alone. It has its own loop because nearly all entries are skipped this way."""
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

    def text_of(self, form: int, value: int) -> str:
        """The text of an attribute of the current unit; empty for one that cannot be read."""
        data, at = self._strings, value
        if form == STRING:
            data = self._info
        elif form == LINE_STRP:
            data = self._line_strings
        elif form in STRX:
            word = self._unit_at[3]
            at = self._number(self._str_offsets, self._text_offsets + value * word, word)
        elif form != STRP:
            return ""
        text, end, _rest = bytes(data[at : at + _MOST_NAME]).partition(b"\0")
        return text.decode("utf-8", "replace") if end else ""

    def entry_at(self, place: int) -> tuple[DebugEntry | None, dict[int, tuple[int, int]]]:
        """An entry of the current unit and its values; None for an invalid one."""
        start, end, table, _word = self._unit_at
        self._spend()
        if not 0 < place < end - start:
            return None, {}
        code, at = uleb(self._info, start + place)
        entry = self._entry(table, code)
        return (None, {}) if entry is None else (entry, self._values(self._info, at, entry)[0])

    def visit(
        self, entry: DebugEntry, place: int, outer: str, text: str, values: dict[int, tuple[int, int]]
    ) -> str | None:
        """Visit an entry of `looked_at`.

        Args:
            place: offset from the start of the unit.
            outer, text: qualified name of its scope; its own name, empty for none.

        Returns:
            The qualified name of its scope; None if its children are not visited.
        """
        raise NotImplementedError

    def end_unit(self, signature: tuple[int, int] | None) -> None:
        """Called at the end of a unit.

        Args:
            signature: for a type unit, the signature and offset of the type.
        """

    def _values(self, info: memoryview, at: int, entry: DebugEntry) -> tuple[dict[int, tuple[int, int]], int]:
        """The `READ` attributes of an entry with numeric values (of a text, its offset) as attribute -> (form, number),
        and the end of the entry."""
        found = {}
        for (attribute, form, constant), (size, kind) in zip(entry.forms, entry.steps, strict=True):
            if attribute not in READ:
                pass
            elif form == IMPLICIT:
                found[attribute] = form, constant
            elif form == STRING:
                found[attribute] = form, at
            elif not kind and size <= 8:
                found[attribute] = form, self._number(info, at, size) if size else 1
            elif form in NUMBERS:
                found[attribute] = form, uleb(info, at)[0]
            at = self._skip_attributes(info, at, ((size, kind),)) if kind else at + size
        return found, at

    def _skip_attributes(self, info: memoryview, at: int, steps: tuple[tuple[int, int], ...]) -> int:
        """The offset after values."""
        for size, kind in steps:
            if not kind:
                at += size
            elif kind in NUMBERS:
                while info[at] >= 0x80:
                    at += 1
                    self._spend()
                at += 1
            elif kind == STRING:
                at = text_end(info, at) + 1
                if not at:
                    raise DamagedEntries("a text without an end")
            else:
                width = BLOCKS[kind]
                if width:
                    length, at = self._number(info, at, width), at + width
                else:
                    length, at = uleb(info, at)
                at += length
        return at
