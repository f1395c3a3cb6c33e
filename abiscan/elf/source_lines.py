"""Addresses to source lines, from DWARF.

.debug_aranges has the units around the addresses, if the file has it; the first entry of a unit has the offset of its
line program, which `line_program` runs.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import islice
from typing import Final, Literal

from abiscan.elf.abbreviations import (
    LINE_PROGRAM,
    Abbreviations,
    DamagedEntries,
    initial_length,
    read_abbreviations,
    uleb,
)
from abiscan.elf.debug_entries import SECTIONS, EntryWalk
from abiscan.elf.debug_sections import debug_sections
from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.line_program import DamagedLines, LineSections, find_lines, unit_size
from abiscan.elf.sections import section
from abiscan.model.limits import MAX_DEBUG

# Limits are sizes and not seconds: two runs on one file must have the same result however busy the machine is.
# Bytes of line programs that are run, about four a row; and number of units.
MAX_PROGRAMS: Final = 16 << 20
MAX_UNITS: Final = 2000
# Ranges of .debug_aranges.
_MAX_RANGES: Final = 1 << 20
_LINES, _RANGES = b".debug_line", b".debug_aranges"


def source_lines(elf: DynamicFile, addresses: Collection[int]) -> dict[int, tuple[str, int]]:
    """(file as given to the compiler, line from 1) of the addresses that DWARF has.

    Debug information that is damaged, too large or compressed beyond `MAX_DEBUG` yields what was read before.
    """
    if not addresses or section(elf.image, _LINES) is None:
        return {}
    contents = debug_sections(elf, (*SECTIONS, _LINES, _RANGES), MAX_DEBUG)
    found: dict[int, tuple[str, int]] = {}
    if contents is not None:
        with suppress(DamagedEntries, IndexError, struct.error):
            _read(elf, contents, sorted(addresses), found)
    return found


def _read(
    elf: DynamicFile, contents: list[memoryview], addresses: list[int], found: dict[int, tuple[str, int]]
) -> None:
    *entries, lines, ranges = contents
    order: Literal["little", "big"] = "little" if elf.image.little_endian else "big"
    sections = LineSections(lines, entries[3], entries[4], order)
    units = _Units(entries, order)
    offsets = units.around(ranges, addresses) if section(elf.image, _RANGES) is not None else units.every()
    left = MAX_PROGRAMS
    for offset in islice(offsets, MAX_UNITS):
        at = units.line_program(offset)
        if at is None:
            continue
        left -= unit_size(sections, at)
        if left < 0:
            return
        with suppress(DamagedLines):
            find_lines(sections, at, addresses, found)
        if len(found) == len(addresses):
            return


class _Units(EntryWalk):
    """The units of .debug_info, by their first entries (DWARF 5, section 3.1.1)."""

    def every(self) -> Iterator[int]:
        """The offset of each unit."""
        at = 0
        while at + 11 < len(self._info):
            yield at
            length, first, _word = initial_length(self._info, at, self._order)
            at = first + length

    def around(self, ranges: memoryview, addresses: list[int]) -> list[int]:
        """The offsets of the units that have one of the addresses, by .debug_aranges (section 6.1.2)."""
        table = sorted(islice(self._ranges(ranges), _MAX_RANGES))
        found = set()
        for address in addresses:
            at = bisect_right(table, (address, 1 << 64, 0)) - 1
            if at >= 0 and address < table[at][0] + table[at][1]:
                found.add(table[at][2])
        return sorted(found)

    def _ranges(self, data: memoryview) -> Iterator[tuple[int, int, int]]:
        """(address, size, offset of the unit)."""
        start = 0
        while start + 12 < len(data):
            length, at, word = initial_length(data, start, self._order)
            end = at + length
            unit, size = self._number(data, at + 2, word), data[at + 2 + word]
            if end > len(data) or size not in (4, 8) or data[at + 3 + word]:
                raise DamagedEntries(f"ranges with addresses of {size} bytes")
            # Aligned to the size of a pair, from the start of the table.
            at += 4 + word
            at += (start - at) % (2 * size)
            pairs = struct.Struct(("<" if self._order == "little" else ">") + ("II" if size == 4 else "QQ"))
            for address, extent in pairs.iter_unpack(data[at : at + (end - at) // pairs.size * pairs.size]):
                if extent:
                    yield address, extent, unit
            start = end

    def line_program(self, offset: int) -> int | None:
        """The offset of the line program of a unit."""
        self._program: int | None = None
        self._unit(offset, in_types=False)
        return self._program

    def _table(self, offset: int, word: int, address: int, reference: int) -> Abbreviations:
        # The first entry needs one of some hundred abbreviations, nearly always the first.
        self._declared_at = offset
        return Abbreviations({}, (word, address, reference), {}, [0] * 256)

    def _entries(self, start: int, at: int, end: int, table: Abbreviations, word: int) -> None:
        code, at = uleb(self._info, at)
        if not code:
            return
        for number, tag, children, forms in read_abbreviations(self._abbreviations, self._declared_at):
            self._spend(len(forms) + 1)
            if number == code:
                table.declared[code] = tag, children, forms
                break
        entry = self._entry(table, code)
        if entry is None:
            raise DamagedEntries(f"no abbreviation {code}")
        values, _end = self._values(self._info, at, entry)
        self._program = values.get(LINE_PROGRAM, (0, None))[1]
