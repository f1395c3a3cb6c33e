"""Whether glibc's loader can apply the relocations of a mapped file: it must write only to the file's own memory and
read only what is there. `integrity` has the earlier stages, `called_functions` the later ones.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from abiscan.elf import ElfFile
from abiscan.elf.dynamic import DT_GNU_HASH, DT_HASH, DT_RELR, DT_RELRSZ, DT_STRTAB, DT_SYMTAB, DT_VERSYM
from abiscan.elf.hash_table import GnuHashTable
from abiscan.elf.mapping import (
    MAX_ADDRESS_SPACE,
    area_at,
    covers,
    first_outside,
    is_unmapped,
    mapped_runs,
    page_end,
    page_start,
    read_only_pages,
    writable_runs,
)
from abiscan.elf.relocations import RELATIVE, RelocatedWord, RelocationTable
from abiscan.elf.symbols import STB_WEAK, RawSymbol
from abiscan.loader.bound_symbols import Binder, Definition
from abiscan.loader.failure import Undecidable, crash, failed_assertion
from abiscan.loader.written_words import EFFECTS, WordEffect, types_with
from abiscan.model.loading import LoaderStop, StopKind

_RELATIVE_TYPE = (
    "../sysdeps/x86_64/dl-machine.h: 487: elf_machine_rela_relative: Assertion "
    "`ELFW(R_TYPE) (reloc->r_info) == R_X86_64_RELATIVE' failed!"
)
_NO_SYMBOL = RawSymbol(0, 0, 0, 0, 0, 0, 0)
# Nothing is mapped below it (vm.mmap_min_addr).
_LOWEST_ADDRESS = 1 << 16


# --- _dl_relocate_object (elf/dl-reloc.c, do-rel.h) ---------------------------------------------------------------


def unknown_relocation(elf: ElfFile, path: str) -> LoaderStop | None:
    """The stop at a relocation type that the loader does not know: _dl_reloc_bad_type (x86-64 only)."""
    if elf.machine != "x86_64":
        return None
    known = EFFECTS["x86_64"].keys()
    for table in elf.relocations:
        if table.types <= known:
            continue
        kind = next(info & table.mask for info in table.infos() if info & table.mask not in known)
        text = f"0x{kind:08x}" if kind > 0xFF else f"0x{kind:02x}"
        return LoaderStop(StopKind.UNKNOWN_RELOCATION, path, detail=text)
    return None


def check_relocated(elf: ElfFile, path: str) -> None:
    """Check that every address that the loader writes to is the file's own, writable, and not in a table still to be
    read.

    Raises:
        LoadFailure, Undecidable: the load fails here, or may fail.
    """
    image = elf.image
    writable = mapped_runs(image.areas) if elf.dynamic.has_text_relocations else writable_runs(image.areas)
    allowed = list(_without(writable, sorted(loader_tables(elf, writable))))
    packed = elf.packed
    if packed.unplaced is not None:
        if packed.unplaced < _LOWEST_ADDRESS:
            raise crash(
                path, f"its packed relocations (DT_RELR) begin with a bitmap: the loader writes to {packed.unplaced:#x}"
            )
        raise Undecidable(f"{path}: its packed relocations (DT_RELR) begin with a bitmap, without an address")
    places = packed.places[:]
    for table in elf.relocations:
        places += _check_table(elf, table, path)
    places.sort()
    inside = sum(
        max(bisect_right(places, end - (8 if image.is64 else 4)) - bisect_left(places, start), 0)
        for start, end in allowed
    )
    if inside != len(places):
        _refuse_place(elf, places, writable, path)
    _check_relro(elf, path)


def check_names(elf: ElfFile, path: str) -> None:
    """Check that the symbols of relocations, their versions and their names lie in their tables.

    Raises:
        Undecidable: one does not, and the loader reads other memory instead.
        UnreadableFile: the same.
    """
    if elf.relocations and elf.symbols.raw(0) != _NO_SYMBOL:
        raise Undecidable(f"{path}: its symbol table begins with a symbol, where the loader expects none")
    # The loader reads the version of each symbol, even if it then looks nothing up.
    highest = [max(table.others, default=0) >> table.shift for table in elf.relocations]
    elf.symbols.version_numbers(highest)
    if elf.symbols.has_lost_name(elf.referred):
        raise Undecidable(f"{path}: a relocation refers to a symbol with a name outside of the string table")


def _check_table(elf: ElfFile, table: RelocationTable, path: str) -> list[int]:
    """The addresses that a table's relocations write to."""
    relative = RELATIVE.get(elf.machine)
    if table.relative and relative is not None:
        odd = any(info & table.mask != relative for info in table.leading)
        if odd or table.relative * table.fields > len(table.words):
            if elf.machine == "x86_64":
                raise failed_assertion(path, _RELATIVE_TYPE)
            raise Undecidable(f"{path} counts relocations as relative (DT_RELACOUNT) that are not")
    places = table.places()
    kinds = table.types
    maybe = _optional(elf, table)
    # Types that write nothing, and types that write more than a word.
    nothing, copies, descriptors = (
        types_with(elf.machine, effect) & kinds
        for effect in (WordEffect.NOTHING, WordEffect.COPY, WordEffect.TLS_DESCRIPTOR)
    )
    if nothing or copies or maybe:
        skipped = nothing | copies
        pairs = zip(table.places(), table.infos(), strict=True)
        places = [p for p, info in pairs if info & table.mask not in skipped and info not in maybe]
        places += _copied(elf, table.of_types(copies))
    word = 8 if elf.image.is64 else 4
    places += [each.place + word for each in table.of_types(descriptors)]
    return places


def _optional(elf: ElfFile, table: RelocationTable) -> frozenset[int]:
    """`r_info` of relocations for offsets of thread-local variables: they write nothing if a weak symbol has no
    definition."""
    kinds = types_with(elf.machine, WordEffect.TLS_MODULE, WordEffect.TLS_OFFSET, WordEffect.STATIC_TLS) & table.types
    if not kinds:
        return frozenset()
    shift, mask = table.shift, table.mask
    named = [info for info in table.others if info & mask in kinds and info >> shift]
    return frozenset(info for info in named if elf.symbols.raw(info >> shift).binding == STB_WEAK)


def _copied(elf: ElfFile, copies: list[RelocatedWord]) -> Iterator[int]:
    """The first and last word that each copy relocation writes: the symbol's size in this file, or in its definition if
    that is smaller. Copies that may exceed the room are left to `check_read`."""
    writable = writable_runs(elf.image.areas)
    for copy in copies:
        size = elf.symbols.raw(copy.symbol).size
        if size >= 8 and covers(writable, copy.place, size):
            yield from (copy.place, copy.place + size - 8)


def check_read(elf: ElfFile, path: str, bind: Binder) -> None:
    """Check what depends on symbol definitions: copied bytes and symbol sizes exist, and values of defined weak symbols
    are written inside the file.

    Raises:
        LoadFailure, Undecidable: the load fails here, or may fail.
    """
    sizes = types_with(elf.machine, WordEffect.SIZE, WordEffect.HALF_SIZE)
    copies = types_with(elf.machine, WordEffect.COPY)
    writable = mapped_runs(elf.image.areas) if elf.dynamic.has_text_relocations else writable_runs(elf.image.areas)
    for table in elf.relocations:
        optional = _optional(elf, table)
        for each in table.of_types({info & table.mask for info in optional}):
            is_optional = each.symbol << table.shift | each.type in optional
            if is_optional and not covers(writable, each.place, 8) and not bind(each.symbol, each.type).is_absent:
                raise Undecidable(
                    f"{path}: a relocation writes to {each.place:#x}, which is not writable memory of the file"
                )
        for index, kind in dict.fromkeys((each.symbol, each.type) for each in table.of_types(sizes | copies)):
            found = bind(index, kind)
            if kind in sizes:
                if found.is_absent:
                    raise crash(path, "a relocation needs the size of a symbol that nothing defines")
                if found.symbol is None and elf.symbols.raw(index).binding == STB_WEAK:
                    raise Undecidable(f"{path}: a relocation needs the size of a symbol that may be undefined")
            elif found.symbol is not None and found.elf is not None:
                size = min(found.symbol.size, elf.symbols.raw(index).size)
                _check_source(path, found, size)
        for copy in table.of_types(copies):
            size = elf.symbols.raw(copy.symbol).size
            if size and not covers(writable, copy.place, size):
                _check_destination(elf, path, copy, bind(copy.symbol, copy.type))


def _check_destination(elf: ElfFile, path: str, copy: RelocatedWord, found: Definition) -> None:
    """Check that the file has room for the bytes of a copy relocation."""
    size = elf.symbols.raw(copy.symbol).size
    if found.symbol is not None:
        size = min(size, found.symbol.size)
        outside = first_outside(writable_runs(elf.image.areas), copy.place, size)
        if outside is None:
            return
        is_protected = area_at(elf.image.areas, outside) is not None and not elf.dynamic.has_text_relocations
        if is_protected or is_unmapped(elf.image.loads, outside):
            raise crash(path, f"{size} bytes are copied to {copy.place:#x}, and {outside:#x} cannot be written to")
    if not found.is_absent:
        raise Undecidable(f"{path} has {size} bytes copied to {copy.place:#x}, where it has less room")


def _check_source(path: str, found: Definition, size: int) -> None:
    """Check the bytes that a copy relocation reads."""
    symbol, other = found.symbol, found.elf
    if not size or symbol is None or other is None:
        return
    if found.is_absolute:
        if symbol.value < _LOWEST_ADDRESS or symbol.value >= MAX_ADDRESS_SPACE:
            raise crash(
                path, f"{size} bytes are copied from the absolute address {symbol.value:#x}, where nothing is mapped"
            )
        raise Undecidable(f"{path} has {size} bytes copied from the absolute address {symbol.value:#x}")
    readable = mapped_runs(tuple(area for area in other.image.areas if area.is_readable))
    outside = first_outside(readable, symbol.value, size)
    if outside is not None:
        if is_unmapped(other.image.loads, outside):
            raise crash(
                path, f"{size} bytes are copied from {symbol.value:#x} of {other.path}, where nothing is mapped"
            )
        raise Undecidable(f"{path} has {size} bytes copied from {symbol.value:#x} of {other.path}, which it has not")


def _refuse_place(elf: ElfFile, places: list[int], writable: list[tuple[int, int]], path: str) -> None:
    areas = elf.image.areas
    for place in places:
        if covers(writable, place, 1):
            continue
        if any(area.start <= place < area.end for area in areas):
            raise crash(path, f"a relocation writes to {place:#x}, which is mapped without write permission")
        if is_unmapped(elf.image.loads, place):
            raise crash(path, f"a relocation writes to {place:#x}, where nothing is mapped")
        raise Undecidable(f"{path}: a relocation writes to {place:#x}, which is outside of the file")
    raise Undecidable(f"{path}: a relocation writes over a table that the loader still reads")


def _check_relro(elf: ElfFile, path: str) -> None:
    """`_dl_protect_relro`: only whole mapped pages can be protected."""
    start, end = read_only_pages(elf.image.segments)
    if start == end:
        return
    # The gaps between segments are mapped too, without permissions.
    loads = elf.image.loads
    first, last = page_start(loads[0].address), page_end(loads[-1].address + loads[-1].memory_size)
    if start > end or start < first or end > last:
        raise Undecidable(
            f"{path} requests read-only memory (PT_GNU_RELRO) beyond its segments: the loader refuses that, or takes "
            "the memory of another library"
        )


def loader_tables(elf: ElfFile, writable: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """(start, end) of tables in writable memory that the loader reads while it writes."""
    values, wide = elf.dynamic.values, elf.image.is64
    count = elf.symbol_count
    yield elf.dynamic.address, elf.dynamic.address + (16 if wide else 8) * (len(values) + len(elf.dynamic.needed) + 1)
    sizes = [(DT_SYMTAB, count * (24 if wide else 16)), (DT_STRTAB, elf.dynamic.strings_end - elf.dynamic.strtab)]
    sizes += [(DT_VERSYM, 2 * count), (DT_RELR, values.get(DT_RELRSZ, 0))]
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


def check_own_names(elf: ElfFile, path: str) -> None:
    """Check that symbols that the file defines and its relocations refer to are found in its own hash table. A lookup
    of others ends in other libraries or fails.

    Raises:
        Undecidable: one is not found.
    """
    for symbol in elf.open_references:
        if symbol.section and symbol.binding != STB_WEAK:
            name = elf.symbols.name_of(symbol).decode("utf-8", "surrogateescape")
            raise Undecidable(f"{path} defines {name}, but its hash table does not lead to it: no lookup finds it")


def _without(runs: list[tuple[int, int]], holes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The runs without the sorted `holes`."""
    for start, end in runs:
        at = start
        for first, last in holes:
            if first < end and last > at:
                if first > at:
                    yield at, first
                at = max(at, last)
        if at < end:
            yield at, end
