"""Addresses to source lines, from DWARF. Release builds have none; then only the section names are read.

pyelftools finds the units, by .debug_aranges if the file has it, and reads the first entry of each, at most
`MAX_UNITS`, if that is fast enough. `line_program` runs their programs.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable
from contextlib import suppress
from itertools import islice
from typing import Any, Final

from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.line_program import DamagedLines, LineSections, find_lines, unit_size
from abiscan.elf.sections import section
from abiscan.model.limits import MAX_DEBUG

# Limits are sizes and not seconds: two runs on one file must have the same result however busy the machine is.
# Bytes of line programs that are run, about four a row; and number of units.
MAX_PROGRAMS: Final = 16 << 20
MAX_UNITS: Final = 2000
_SECTIONS = (b".debug_info", b".debug_abbrev", b".debug_line", b".debug_str", b".debug_line_str", b".debug_aranges")


def source_lines(elf: DynamicFile, addresses: Collection[int]) -> dict[int, tuple[str, int]]:
    """(file as given to the compiler, line from 1) of the addresses that DWARF has.

    Debug information that is damaged, too large or compressed beyond `MAX_DEBUG` yields what was read before.
    """
    sizes = [found[1] for found in (section(elf.image, name) for name in _SECTIONS) if found is not None]
    if not addresses or section(elf.image, b".debug_line") is None or sum(sizes) > MAX_DEBUG:
        return {}
    found: dict[int, tuple[str, int]] = {}
    # pyelftools raises unrelated exceptions on damaged DWARF: construct's errors, KeyError, AssertionError, ...
    try:
        _read(elf, sorted(addresses), found)
    except Exception:
        return found
    return found


def _read(elf: DynamicFile, addresses: list[int], found: dict[int, tuple[str, int]]) -> None:
    from elftools.elf.elffile import ELFFile

    buffer = elf.buffer
    stream: Any = io.BytesIO(buffer) if isinstance(buffer, bytes) else buffer
    stream.seek(0)
    dwarf = ELFFile(stream).get_dwarf_info(follow_links=False)
    left = MAX_PROGRAMS
    sections = LineSections(
        _contents(dwarf.debug_line_sec),
        _contents(dwarf.debug_str_sec),
        _contents(dwarf.debug_line_str_sec),
        "little" if elf.image.little_endian else "big",
    )
    for unit in islice(_units(dwarf, addresses), MAX_UNITS):
        at = unit.get_top_DIE().attributes.get("DW_AT_stmt_list")
        if at is None:
            continue
        left -= unit_size(sections, at.value)
        if left < 0:
            return
        with suppress(DamagedLines):
            find_lines(sections, at.value, addresses, found)
        if len(found) == len(addresses):
            return


def _contents(section: Any) -> bytes:
    if section is None:
        return b""
    section.stream.seek(0)
    data: bytes = section.stream.read()
    return data


def _units(dwarf: Any, addresses: list[int]) -> Iterable[Any]:
    """The compilation units around the addresses by .debug_aranges; all if it is absent."""
    ranges = dwarf.get_aranges()
    if ranges is None:
        every: Iterable[Any] = dwarf.iter_CUs()
        return every
    offsets = {ranges.cu_offset_at_addr(address) for address in addresses}
    return [dwarf.get_CU_at(offset) for offset in sorted(offset for offset in offsets if offset is not None)]
