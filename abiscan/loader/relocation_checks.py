"""Whether glibc's loader comes through the relocations of a file that it has mapped, and through the functions that it
calls then: what it writes to must be the file's own, and what it calls must be code. Nothing here depends on the
machine or on other libraries; `integrity` has what comes before.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from abiscan.elf import ElfFile
from abiscan.elf.dynamic import (
    DF_STATIC_TLS,
    DT_FLAGS,
    DT_GNU_HASH,
    DT_HASH,
    DT_INIT,
    DT_INIT_ARRAY,
    DT_INIT_ARRAYSZ,
    DT_STRTAB,
    DT_SYMTAB,
    DT_VERSYM,
)
from abiscan.elf.hash_table import GnuHashTable
from abiscan.elf.mapping import PF_X, Area, covers, mapped_runs, page_end, page_start, writable_runs
from abiscan.elf.relocations import IRELATIVE, RELATIVE, Table
from abiscan.elf.segment import PT_TLS, Segment
from abiscan.elf.symbols import STB_WEAK
from abiscan.loader.failure import Undecidable, crash, failed_assertion
from abiscan.model.binding import LoaderStop, StopKind

PT_GNU_RELRO = 0x6474E552
# Machines on which a function's address is that of a descriptor in the data (64-bit PowerPC ELF ABI, version 1).
_FUNCTION_DESCRIPTORS = frozenset(("ppc64",))
_RELATIVE_TYPE = (
    "../sysdeps/x86_64/dl-machine.h: 487: elf_machine_rela_relative: Assertion "
    "`ELFW(R_TYPE) (reloc->r_info) == R_X86_64_RELATIVE' failed!"
)
# Relocation types that write an offset into a block of thread-local variables (x86-64 psABI, table 4.10), and the one
# among them that needs static TLS.
_TLS_TYPES = {"x86_64": frozenset((16, 17, 18, 36))}
_STATIC_TLS_TYPE = {"x86_64": 18}
_COPY_TYPE = {"x86_64": 5, "aarch64": 1024}


# --- _dl_relocate_object (elf/dl-reloc.c, do-rel.h) ---------------------------------------------------------------


# Types that x86-64's loader knows; any other ends the load (_dl_reloc_bad_type).
_KNOWN_X86_64 = frozenset((0, 1, 2, 5, 6, 7, 8, 10, 16, 17, 18, 32, 33, 36, 37, 38))


def unknown_relocation(elf: ElfFile, path: str) -> LoaderStop | None:
    """The stop at a relocation type that the loader does not know (x86-64 only)."""
    if elf.machine != "x86_64":
        return None
    for table in elf.relocations:
        if table.types <= _KNOWN_X86_64:
            continue
        kind = next(info & table.mask for info in table.infos() if info & table.mask not in _KNOWN_X86_64)
        text = f"0x{kind:08x}" if kind > 0xFF else f"0x{kind:02x}"
        return LoaderStop(StopKind.UNKNOWN_RELOCATION, path, detail=text)
    return None


def check_relocated(elf: ElfFile, path: str) -> None:
    """Every place that the loader writes to is the file's own and writable, and none is a table that it still reads.

    Raises:
        LoadFailure, Undecidable: as the loader ends, or may.
    """
    image = elf.image
    writable = mapped_runs(image.areas) if elf.dynamic.has_text_relocations else writable_runs(image.areas)
    allowed = list(_without(writable, sorted(_tables_in(elf, writable))))
    tls = next((s for s in image.segments if s.type == PT_TLS and s.memory_size), None)
    places = elf.packed_places()
    for table in elf.relocations:
        places += _check_table(elf, table, path, has_tls=tls is not None)
    places.sort()
    inside = sum(
        max(bisect_right(places, end - (8 if image.is64 else 4)) - bisect_left(places, start), 0)
        for start, end in allowed
    )
    if inside != len(places):
        _refuse_place(image.areas, places, writable, path)
    relro = next((s for s in reversed(image.segments) if s.type == PT_GNU_RELRO), None)
    if relro is not None:
        _check_relro(elf, relro, path)


def _check_table(elf: ElfFile, table: Table, path: str, *, has_tls: bool) -> list[int]:
    """The places that a table's relocations write to."""
    relative = RELATIVE.get(elf.machine)
    if table.relative and relative is not None:
        odd = any(info & table.mask != relative for info in table.leading)
        if odd or table.relative * table.fields > len(table.words):
            if elf.machine == "x86_64":
                raise failed_assertion(path, _RELATIVE_TYPE)
            raise Undecidable(f"{path} counts relocations as relative (DT_RELACOUNT) that are not")
    kinds = table.types
    if kinds & _TLS_TYPES.get(elf.machine, frozenset()):
        flags = elf.dynamic.values.get(DT_FLAGS, 0)
        if _STATIC_TLS_TYPE[elf.machine] in kinds and not flags & DF_STATIC_TLS:
            raise Undecidable(f"{path} has relocations for static TLS and is not marked so (DF_STATIC_TLS)")
        if not has_tls and not _all_name_others(elf, table):
            raise Undecidable(f"{path} has relocations for thread-local variables and none of these")
    resolver = IRELATIVE.get(elf.machine)
    if resolver in kinds:
        tables = tuple(_tables_in(elf, mapped_runs(elf.image.areas)))
        for address in table.addends(resolver):
            _check_code(elf, address, path, "resolver of an indirect function", tables)
    places = table.places()
    # R_*_NONE is 0 everywhere; it writes nothing.
    copy = _COPY_TYPE.get(elf.machine)
    if kinds & {0, copy}:
        places = [p for p, info in zip(places, table.infos(), strict=True) if info & table.mask not in (0, copy)]
        places += _copied(elf, table, copy, path) if copy in kinds else ()
    return places


def _copied(elf: ElfFile, table: Table, kind: int | None, path: str) -> Iterator[int]:
    """The first and the last word that each copy relocation writes: as many bytes as the file has for it, or fewer
    where its definition has."""
    writable = writable_runs(elf.image.areas)
    for place, info in zip(table.places(), table.infos(), strict=True):
        if info & table.mask == kind:
            size = elf.symbols.raw(info >> table.shift).size
            if size and not covers(writable, place, size):
                raise Undecidable(f"{path} has {size} bytes copied to {place:#x}, which is more than it has room for")
            if size >= 8:
                yield from (place, place + size - 8)


def _all_name_others(elf: ElfFile, table: Table) -> bool:
    """Whether each relocation for a thread-local variable is for one of another library."""
    types = _TLS_TYPES[elf.machine]
    indices = {info >> table.shift for info in (*table.leading, *table.others) if info & table.mask in types}
    return all(index and not elf.symbols.raw(index).section for index in indices)


def _refuse_place(areas: tuple[Area, ...], places: list[int], writable: list[tuple[int, int]], path: str) -> None:
    for place in places:
        if covers(writable, place, 1):
            continue
        if any(area.start <= place < area.end for area in areas):
            raise crash(path, f"a relocation writes to {place:#x}, which is mapped without write permission")
        raise Undecidable(f"{path}: a relocation writes to {place:#x}, which is no place of the file")
    raise Undecidable(f"{path}: a relocation writes over a table that the loader still reads")


def _check_relro(elf: ElfFile, relro: Segment, path: str) -> None:
    """`_dl_protect_relro`: whole pages that are mapped can be protected, others cannot."""
    start, end = page_start(relro.address), page_start(relro.address + relro.memory_size)
    if start == end or not relro.memory_size:
        return
    at = start
    for first, last in mapped_runs(elf.image.areas):
        if first <= at < last:
            at = min(page_end(last), end)
    if start > end or at < end:
        raise Undecidable(
            f"{path} asks for read-only memory (PT_GNU_RELRO) beyond its segments: the loader refuses that, or takes "
            "the memory of another library"
        )


def _tables_in(elf: ElfFile, writable: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """(start, end) of the tables that the loader goes on reading while it writes, those that lie in writable memory."""
    values, wide = elf.dynamic.values, elf.image.is64
    count = elf.symbol_count
    yield elf.dynamic.address, elf.dynamic.address + (16 if wide else 8) * (len(values) + len(elf.dynamic.needed) + 1)
    sizes = [(DT_SYMTAB, count * (24 if wide else 16)), (DT_STRTAB, elf.dynamic.strings_end - elf.dynamic.strtab)]
    sizes.append((DT_VERSYM, 2 * count))
    table = elf.symbols.hash_table
    if isinstance(table, GnuHashTable):
        words, _shift, buckets = table.parameters
        sizes.append((DT_GNU_HASH, 16 + words * (8 if wide else 4) + 4 * (buckets + count)))
    elif DT_HASH in values:
        sizes.append((DT_HASH, 4 * (2 + 2 * count)))
    found = [(values[tag], values[tag] + size) for tag, size in sizes if tag in values]
    found += [(t.address, t.address + t.size) for t in elf.relocations]
    for start, end in found:
        if any(start < last and first < end for first, last in writable):
            yield start, end


# --- call_init (elf/dl-init.c) ------------------------------------------------------------------------------------


def check_started(elf: ElfFile, path: str) -> None:
    """Functions that are called at the end of loading lie in the file's code.

    Raises:
        LoadFailure, Undecidable: as the loader ends, or may.
    """
    if elf.machine in _FUNCTION_DESCRIPTORS:
        return
    values = elf.dynamic.values
    if DT_INIT not in values and DT_INIT_ARRAY not in values:
        return
    tables = tuple(_tables_in(elf, mapped_runs(elf.image.areas)))
    if DT_INIT in values:
        _check_code(elf, values[DT_INIT], path, "initialisation function (DT_INIT)", tables)
    if DT_INIT_ARRAY not in values:
        return
    if DT_INIT_ARRAYSZ not in values:
        raise crash(path, "its dynamic section has DT_INIT_ARRAY without DT_INIT_ARRAYSZ, which the loader reads")
    word = 8 if elf.image.is64 else 4
    start, count = values[DT_INIT_ARRAY], values[DT_INIT_ARRAYSZ] // word
    if not count:
        return
    if not covers(mapped_runs(elf.image.areas), start, count * word):
        raise Undecidable(f"{path} has initialisation functions in a table (DT_INIT_ARRAY) that is not all mapped")
    end = start + count * word
    written: dict[int, int | None] = {}
    for place in elf.packed_places():
        if start <= place < end:
            written[place] = _word_at(elf, place, word)
    relative = RELATIVE.get(elf.machine)
    for table in elf.relocations:
        written |= table.written(start, end, relative)
    if relative is None and not written:
        return
    for place in range(start, end, word):
        if place not in written:
            raise crash(path, f"the initialisation function at {place:#x} is an address that nothing relocates")
        address = written[place]
        if address is not None:
            _check_code(elf, address, path, "initialisation function (DT_INIT_ARRAY)", tables)
    strays = [place for place in written if (place - start) % word]
    if strays:
        raise Undecidable(f"{path}: a relocation writes over a part of an initialisation function's address")


def _word_at(elf: ElfFile, place: int, word: int) -> int | None:
    offset = elf.image.offset_of(place, "an initialisation function", word)
    return int.from_bytes(elf.image.buffer[offset : offset + word], "little" if elf.image.little_endian else "big")


def _check_code(elf: ElfFile, address: int, path: str, what: str, tables: Sequence[tuple[int, int]]) -> None:
    area = next((a for a in elf.image.areas if a.start <= address < a.end), None)
    if area is None:
        raise Undecidable(f"{path}: its {what} is at {address:#x}, which is no place of the file")
    if not area.flags & PF_X:
        raise crash(path, f"its {what} is at {address:#x}, which is no code")
    if area.offset is not None and area.offset + address - area.start < elf.image.header_table[1]:
        raise Undecidable(f"{path}: its {what} is at {address:#x}, in the headers of the file")
    if any(start <= address < end for start, end in tables):
        raise Undecidable(f"{path}: its {what} is at {address:#x}, in a table of the file")


def check_resolvers(elf: ElfFile, path: str) -> None:
    """Indirect functions of its own that its relocations name: the loader calls them.

    Raises:
        LoadFailure, Undecidable: as the loader ends, or may.
    """
    resolvers = elf.symbols.resolvers(elf.referred)
    tables = tuple(_tables_in(elf, mapped_runs(elf.image.areas))) if resolvers else ()
    for symbol in resolvers:
        _check_code(elf, symbol.value, path, "resolver of an indirect function", tables)


def check_own_names(elf: ElfFile, path: str) -> None:
    """Names that its relocations refer to and that its symbol table defines are found in its own hash table; a lookup
    of others ends in other libraries, or nowhere.

    Raises:
        Undecidable: one is not.
    """
    for symbol in elf.open_references:
        if symbol.section and symbol.binding != STB_WEAK:
            name = elf.symbols.name_of(symbol).decode("utf-8", "surrogateescape")
            raise Undecidable(f"{path} defines {name} where no lookup finds it: its hash table does not lead there")


def _without(runs: list[tuple[int, int]], holes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The runs with the sorted `holes` cut out."""
    for start, end in runs:
        at = start
        for first, last in holes:
            if first < end and last > at:
                if first > at:
                    yield at, first
                at = max(at, last)
        if at < end:
            yield at, end
