"""Addresses to source lines, from DWARF. Release builds have none; then this costs a look at the section names."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Collection, Iterable
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from abiscan.elf.line_header import tables_fit
from abiscan.elf.sections import section
from abiscan.model.limits import MAX_DEBUG

if TYPE_CHECKING:
    from abiscan.elf.file import ElfFile

# Bounds are amounts and not seconds: two runs over one file must tell the same, however busy the machine is.
# Bytes of line programs that are run, some four a row, at 300 thousand rows a second; and units that are looked at.
MAX_PROGRAMS: Final = 4 << 20
MAX_UNITS: Final = 2000
_SECTIONS = (b".debug_info", b".debug_abbrev", b".debug_line", b".debug_str", b".debug_line_str", b".debug_aranges")


def source_lines(elf: ElfFile, addresses: Collection[int]) -> dict[int, tuple[str, int]]:
    """(file as the compiler was given it, line from 1) of those addresses that DWARF knows.

    Damaged, compressed beyond `MAX_DEBUG` or too large debug information yields what was read until then.
    """
    sizes = [found[1] for found in (section(elf.image, name) for name in _SECTIONS) if found is not None]
    if not addresses or section(elf.image, b".debug_line") is None or sum(sizes) > MAX_DEBUG:
        return {}
    found: dict[int, tuple[str, int]] = {}
    # What pyelftools raises on damaged DWARF is not one family: construct's errors, KeyError, AssertionError, ...
    try:
        _read(elf, sorted(addresses), found)
    except Exception:
        return found
    return found


def _read(elf: ElfFile, addresses: list[int], found: dict[int, tuple[str, int]]) -> None:
    from elftools.elf.elffile import ELFFile

    buffer = elf.image.buffer
    stream: Any = io.BytesIO(buffer) if isinstance(buffer, bytes) else buffer
    stream.seek(0)
    dwarf = ELFFile(stream).get_dwarf_info(follow_links=False)
    left = MAX_PROGRAMS
    lines = _contents(dwarf.debug_line_sec)
    for unit in islice(_units(dwarf, addresses), MAX_UNITS):
        at = unit.get_top_DIE().attributes.get("DW_AT_stmt_list")
        if at is None or not tables_fit(lines, at.value, little_endian=elf.image.little_endian):
            continue
        program = dwarf.line_program_for_CU(unit)
        if program is None:
            continue
        left -= program.header.unit_length
        if left < 0:
            return
        _read_program(program, addresses, found)
        if len(found) == len(addresses):
            return


def _contents(section: Any) -> bytes:
    if section is None:
        return b""
    section.stream.seek(0)
    data: bytes = section.stream.read()
    return data


def _units(dwarf: Any, addresses: list[int]) -> Iterable[Any]:
    """The compilation units around the addresses where .debug_aranges tells; else all."""
    ranges = dwarf.get_aranges()
    if ranges is None:
        every: Iterable[Any] = dwarf.iter_CUs()
        return every
    offsets = {ranges.cu_offset_at_addr(address) for address in addresses}
    return [dwarf.get_CU_at(offset) for offset in sorted(offset for offset in offsets if offset is not None)]


def _read_program(program: Any, addresses: list[int], found: dict[int, tuple[str, int]]) -> None:
    previous = None
    for entry in program.get_entries():
        state = entry.state
        if state is None:
            continue
        if previous is not None and previous.address < state.address:
            at = bisect_right(addresses, previous.address - 1)
            while at < len(addresses) and addresses[at] < state.address:
                found.setdefault(addresses[at], (_file_name(program, previous.file), previous.line))
                at += 1
        previous = None if state.end_sequence else state


def _file_name(program: Any, number: int) -> str:
    """DWARF 5 counts files from 0, earlier versions from 1 (DWARF 5, section 6.2.4)."""
    header = program.header
    first = 0 if header.version >= 5 else 1
    files = header.file_entry
    if not first <= number < len(files) + first:
        return "?"
    entry = files[number - first]
    name: str = entry.name.decode("utf-8", "replace")
    directories = header.include_directory
    at = entry.dir_index - (0 if header.version >= 5 else 1)
    if not name.startswith("/") and 0 <= at < len(directories):
        folder = directories[at].decode("utf-8", "replace")
        return f"{folder}/{name}" if folder not in ("", ".") else name
    return name
