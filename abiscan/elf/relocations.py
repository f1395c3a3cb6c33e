"""Dynamic relocations: the symbols that the loader looks up, their order, and where it writes the addresses.

glibc's loader processes DT_RELR (no symbols), then DT_RELA or DT_REL from its start, then DT_JMPREL (elf/do-rel.h and
elf/dynamic-link.h in its sources); a symbol without relocation is never looked up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain

from msgspec import Struct

from abiscan.elf.dynamic import (
    DT_JMPREL,
    DT_PLTREL,
    DT_PLTRELSZ,
    DT_REL,
    DT_RELA,
    DT_RELACOUNT,
    DT_RELASZ,
    DT_RELCOUNT,
    DT_RELR,
    DT_RELRSZ,
    DT_RELSZ,
    Dynamic,
)
from abiscan.elf.image import Image
from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_PACKED_RELOCATIONS

# Relocation types by machine: x86-64 psABI table 4.10, AArch64 ELF ABI 5.7. R_*_64 and ABS64 write symbol + addend,
# R_*_RELATIVE base + addend, GLOB_DAT and JUMP_SLOT the symbol's address into a GOT slot.
JUMP_SLOT = {"x86_64": 7, "aarch64": 1026}
ABSOLUTE = {"x86_64": 1, "aarch64": 257}
RELATIVE = {"x86_64": 8, "aarch64": 1027}
IRELATIVE = {"x86_64": 37, "aarch64": 1032}
GOT = {"x86_64": (6, 7), "aarch64": (1025, 1026)}
# Types without a lookup even if the symbol field is set: R_*_NONE, which is 0 on every machine here, on aarch64 also
# 256, and R_*_RELATIVE.
_NONE = {"x86_64": (0, 8, 38), "aarch64": (0, 256, 1027)}
# Machines whose loader reads only DT_RELA (ELF_MACHINE_NO_REL of glibc).
RELA_ONLY = frozenset(("x86_64", "aarch64", "riscv64", "ppc64le", "ppc64", "s390x", "loongarch64", "sparc64"))
# Number of entries that are converted at a time.
_CHUNK = 1 << 16


class RelocatedWord(Struct, frozen=True):
    """One relocation (gABI, "Relocation").

    Attributes:
        place: `r_offset`, the address that is written.
        symbol: index in .dynsym, 0 for none.
        type: `R_<machine>_*`.
        addend: 0 for tables that keep it in place.
    """

    place: int
    symbol: int
    type: int
    addend: int


class RelocationTable(Struct, frozen=True):
    """One range of relocations.

    Attributes:
        address, size: of its entries, in bytes.
        words: their fields, `fields` per entry: place, info and, with three, addend.
        relative: number of leading relocations that the loader assumes to be relative (DT_RELACOUNT).
        shift: number of bits of the type in the info; the symbol index is above.
        leading: distinct `r_info` of the leading relocations.
        others: distinct `r_info` of the rest, in the loader's order.
        types: relocation types that occur.
    """

    address: int
    size: int
    words: memoryview[int]
    fields: int
    relative: int
    shift: int
    leading: frozenset[int]
    others: tuple[int, ...]
    types: frozenset[int]

    @property
    def mask(self) -> int:
        """Bit mask of the type in `r_info`."""
        return (1 << self.shift) - 1

    def places(self) -> list[int]:
        """`r_offset` of each."""
        return self.words[0 :: self.fields].tolist()

    def infos(self) -> list[int]:
        """`r_info` of each."""
        return self.words[1 :: self.fields].tolist()

    def addends(self, kind: int) -> set[int]:
        """Addends of the relocations of one type; none if they are kept in place."""
        if self.fields != 3 or kind not in self.types:
            return set()
        mask = self.mask
        return {add for info, add in zip(self.infos(), self.words[2::3].tolist(), strict=True) if info & mask == kind}

    def within(self, start: int, end: int, kinds: Collection[int] = ()) -> list[RelocatedWord]:
        """Relocations with a place in an address range, and those of some types anywhere, in order."""
        places, mask = self.places(), self.mask
        if self.types.isdisjoint(kinds):
            return self._taken([at for at, place in enumerate(places) if start <= place < end])
        pairs = enumerate(zip(places, self.infos(), strict=True))
        return self._taken([at for at, (place, info) in pairs if start <= place < end or info & mask in kinds])

    def of_types(self, kinds: Collection[int]) -> list[RelocatedWord]:
        """Relocations of some types, in the table's order."""
        return [] if self.types.isdisjoint(kinds) else self.within(0, 0, kinds)

    def _taken(self, indices: Iterable[int]) -> list[RelocatedWord]:
        words, fields, shift, mask = self.words, self.fields, self.shift, self.mask
        found = []
        for at in indices:
            info = words[at * fields + 1]
            addend = words[at * 3 + 2] if fields == 3 else 0
            found.append(RelocatedWord(words[at * fields], info >> shift, info & mask, addend))
        return found


def relocation_tables(image: Image, dynamic: Dynamic) -> tuple[RelocationTable, ...]:
    """The ranges of relocations in the loader's order: `_ELF_DYNAMIC_DO_RELOC` in elf/dynamic-link.h of glibc.
    DT_JMPREL counts if DT_PLTREL has its form; if it lies at the end of the other table or right after it, they are one
    range.

    Raises:
        UnreadableFile: a table lies outside of the file, or has no size.
    """
    values = dynamic.values
    # ELF64_R_SYM and ELF32_R_SYM (gABI, "Relocation").
    word, shift = (8, 32) if image.is64 else (4, 8)
    found = []
    for table, size_tag, count_tag, fields in (
        (DT_REL, DT_RELSZ, DT_RELCOUNT, 2),
        (DT_RELA, DT_RELASZ, DT_RELACOUNT, 3),
    ):
        only = image.machine in RELA_ONLY
        if only and table == DT_REL:
            continue
        ranges = []
        # Linkers that write DT_RELR may leave the others at 0, which means none (glibc 2.36).
        if values.get(table):
            ranges.append((values[table], _size(image, values, size_tag)))
        if DT_PLTREL in values and (only or values[DT_PLTREL] == table):
            if DT_JMPREL not in values:
                raise UnreadableFile(image.path, "corrupt ELF file: it has DT_PLTREL without DT_JMPREL")
            start, size = values[DT_JMPREL], _size(image, values, DT_PLTRELSZ)
            first, length = ranges[0] if ranges else (start, 0)
            if ranges and first + length == start + size:
                length -= size
            ranges = [(first, length + size)] if first + length == start else [(first, length), (start, size)]
        for number, (start, size) in enumerate(ranges):
            if size < 0 or size % (fields * word):
                raise UnreadableFile(image.path, f"corrupt ELF file: a relocation table of {size} bytes")
            if not size:
                continue
            offset = image.offset_of(start, "a relocation table", size)
            words = image.words(offset, size // word, "Q" if image.is64 else "I", "a relocation table")
            relative = values.get(count_tag, 0) if number == 0 and values.get(table) else 0
            # A library has tens of thousands of leading ones, all alike, and up to a hundred others for each pair of
            # symbol and type: they are made distinct before they are decoded.
            first = fields * max(relative, 0)
            leading = frozenset(words[1:first:fields].tolist())
            others = tuple(dict.fromkeys(words[first + 1 :: fields].tolist()))
            mask = (1 << shift) - 1
            types = frozenset([info & mask for info in leading]).union([info & mask for info in others])
            found.append(RelocationTable(start, size, words, fields, relative, shift, leading, others, types))
    return tuple(found)


def _size(image: Image, values: dict[int, int], tag: int) -> int:
    if tag not in values:
        raise UnreadableFile(image.path, "corrupt ELF file: its dynamic section gives a relocation table no size")
    return values[tag]


class PackedRelocations(Struct, frozen=True):
    """The words to which DT_RELR adds the load address (gABI, "Relative Relocation Table").

    Attributes:
        places: in the loader's order.
        unplaced: the first address of a bitmap that no address entry precedes: the loader counts it from 0 instead of
            the load address. None without such.
    """

    places: list[int]
    unplaced: int | None


def packed_relocations(image: Image, dynamic: Dynamic) -> PackedRelocations:
    """Read DT_RELR as `ELF_DYNAMIC_DO_RELR` in elf/dynamic-link.h of glibc does: an entry that DT_RELRSZ cuts off is
    read whole.

    Raises:
        UnreadableFile: the table lies outside of the file, has no size, or more than MAX_PACKED_RELOCATIONS places.
    """
    if DT_RELR not in dynamic.values:
        return PackedRelocations([], None)
    word = 8 if image.is64 else 4
    count = -(-_size(image, dynamic.values, DT_RELRSZ) // word)
    offset = image.offset_of(dynamic.values[DT_RELR], "the packed relocations", count * word)
    found: list[int] = []
    unplaced: int | None = None
    place, is_placed = 0, False
    for entry in image.words(offset, count, "Q" if image.is64 else "I", "the packed relocations"):
        if not entry & 1:
            found.append(entry)
            place, is_placed = entry + word, True
            continue
        bits = entry >> 1
        at = place
        while bits:
            if bits & 1:
                if is_placed:
                    found.append(at)
                elif unplaced is None:
                    unplaced = at
            bits >>= 1
            at += word
        place += word * (8 * word - 1)
        if len(found) > MAX_PACKED_RELOCATIONS:
            raise UnreadableFile(
                image.path, f"more than {MAX_PACKED_RELOCATIONS} packed relocations, which are not read"
            )
    return PackedRelocations(found, unplaced)


def symbol_references(tables: Iterable[RelocationTable], machine: str) -> tuple[int, ...]:
    """Distinct `r_info` of the relocations that look a symbol up, in the loader's order. The leading relative ones have
    no symbol."""
    none = frozenset(_NONE.get(machine, (0,)))
    met: dict[int, None] = {}
    for table in tables:
        # Without a symbol the info is only the type.
        without = {*table.types, 0}
        if none & table.types:
            mask = table.mask
            without.update([info for info in table.others if info & mask in none])
        met.update(
            dict.fromkeys(
                table.others
                if without.isdisjoint(table.others)
                else [info for info in table.others if info not in without]
            )
        )
    return tuple(met)


def references(tables: Iterable[RelocationTable], symbols: Collection[int]) -> Iterator[RelocatedWord]:
    """Relocations that refer to one of `symbols` (indices in .dynsym), table by table."""
    if not symbols:
        return
    for table in tables:
        words, fields, shift, mask = table.words, table.fields, table.shift, table.mask
        for at, info in enumerate(words[1::fields].tolist()):
            if info >> shift in symbols:
                first = at * fields
                yield RelocatedWord(words[first], info >> shift, info & mask, words[first + 2] if fields == 3 else 0)


def pointers(tables: Iterable[RelocationTable], machine: str) -> Iterator[tuple[int, int]]:
    """(place, pointer) of every word that the loader fills with an address. The pointer is an address in the file, or,
    if negative, the complement of a symbol index.

    Relocations in packed form (DT_RELR) and tables without addends are not read. Empty for machines that are not in
    `ABSOLUTE`.
    """
    absolute, relative = ABSOLUTE.get(machine), RELATIVE.get(machine)
    if absolute is None:
        return iter(())
    # Yielded one by one, a quarter of the time would go into resuming a generator.
    return chain.from_iterable(_pointers(tables, absolute, relative))


def _pointers(
    tables: Iterable[RelocationTable], absolute: int, relative: int | None
) -> Iterator[list[tuple[int, int]]]:
    for table in tables:
        words, shift, mask = table.words, table.shift, table.mask
        if table.fields != 3:
            continue
        # 0 if the addend is the address.
        pointer_of: dict[int, int] = {}
        for info in (*table.leading, *table.others):
            if info & mask == relative:
                pointer_of[info] = 0
            elif info & mask == absolute:
                pointer_of[info] = ~(info >> shift)
        for start in range(0, len(words), 3 * _CHUNK):
            view = words[start : start + 3 * _CHUNK].tolist()
            fields = zip(view[0::3], view[1::3], view[2::3], strict=True)
            yield [(place, pointer_of[info] or addend) for place, info, addend in fields if info in pointer_of]
