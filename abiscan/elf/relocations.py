"""Dynamic relocations: which symbols the loader looks up, in which order, and where it writes their addresses.

glibc's loader goes through DT_RELR (no symbols), then DT_RELA or DT_REL from its start, then DT_JMPREL (elf/do-rel.h
and elf/dynamic-link.h in its sources); a symbol that no relocation refers to is never looked up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

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
    DT_RELSZ,
    Dynamic,
)
from abiscan.elf.image import Image

# Relocation types by machine: x86-64 psABI table 4.10, AArch64 ELF ABI 5.7. R_*_64 and ABS64, by which the loader
# writes symbol + addend; R_*_RELATIVE, base + addend; GLOB_DAT and JUMP_SLOT, the symbol's address into a GOT slot.
ABSOLUTE = {"x86_64": 1, "aarch64": 257}
RELATIVE = {"x86_64": 8, "aarch64": 1027}
GOT = {"x86_64": (6, 7), "aarch64": (1025, 1026)}
# Types that look nothing up even where the symbol field is set: R_*_NONE is 0 on every machine here but aarch64, where
# ELF64 also has 256.
_NONE = {"aarch64": (0, 256)}
# Entries that are taken out of a table at once, to make numbers of.
_CHUNK = 1 << 16


class Reference(Struct, frozen=True):
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


def _tables(image: Image, dynamic: Dynamic, *, skip_relative: bool = False) -> Iterator[tuple[memoryview[int], int]]:
    """(words, words of an entry) of DT_RELA, DT_REL and DT_JMPREL, those that are there. An entry is place, info and,
    where it has three words, addend.

    Args:
        skip_relative: leave out the leading DT_RELACOUNT entries, which name no symbol; libraries have ten thousands.

    Raises:
        UnreadableFile: a table lies outside of the file.
    """
    values = dynamic.values
    uses_rela = DT_RELA in values or values.get(DT_PLTREL) == DT_RELA
    word = 8 if image.is64 else 4
    for table, size_tag, count_tag, rela in (
        (DT_RELA, DT_RELASZ, DT_RELACOUNT, True),
        (DT_REL, DT_RELSZ, DT_RELCOUNT, False),
        (DT_JMPREL, DT_PLTRELSZ, None, uses_rela),
    ):
        if table not in values or not values.get(size_tag):
            continue
        fields = 3 if rela else 2
        count = values[size_tag] // (fields * word)
        offset = image.offset_of(values[table], "a relocation table")
        skip = min(values.get(count_tag, 0), count) if skip_relative and count_tag is not None else 0
        start, size = offset + skip * fields * word, (count - skip) * fields
        yield image.words(start, size, "Q" if image.is64 else "I", "a relocation table"), fields


def relocated_symbols(image: Image, dynamic: Dynamic) -> list[tuple[int, int]]:
    """(symbol index, relocation type) of the relocations that refer to a symbol, in the order in which the loader first
    meets each pair.

    Raises:
        UnreadableFile: a relocation table lies outside of the file.
    """
    met: dict[int, None] = {}
    for words, fields in _tables(image, dynamic, skip_relative=True):
        # For a JMPREL that lies inside DT_RELA (some linkers), the second visit changes nothing. A library has up to a
        # hundred relocations for each pair, so they are made distinct before they are taken apart.
        met.update(dict.fromkeys(words[1::fields].tolist()))
    shift, mask = _split(image)
    none = _NONE.get(image.machine, (0,))
    return [(info >> shift, info & mask) for info in met if info >> shift and info & mask not in none]


def references(image: Image, dynamic: Dynamic, symbols: Collection[int]) -> Iterator[Reference]:
    """The relocations that refer to one of `symbols` (indices in .dynsym), table by table.

    Raises:
        UnreadableFile: a relocation table lies outside of the file.
    """
    if not symbols:
        return
    shift, mask = _split(image)
    for words, fields in _tables(image, dynamic):
        for at, info in enumerate(words[1::fields].tolist()):
            if info >> shift in symbols:
                first = at * fields
                yield Reference(words[first], info >> shift, info & mask, words[first + 2] if fields == 3 else 0)


def pointers(image: Image, dynamic: Dynamic) -> Iterator[tuple[int, int, int]]:
    """(place, symbol index, address) of every word that the loader fills with an address: of a symbol, then the address
    is 0, or of the file itself, then the index is 0.

    Relocations in the packed form (DT_RELR) and tables without addends are not read; nothing for a machine that is not
    in `ABSOLUTE`.

    Raises:
        UnreadableFile: a relocation table lies outside of the file.
    """
    absolute, relative = ABSOLUTE.get(image.machine), RELATIVE.get(image.machine)
    if absolute is None:
        return
    shift, mask = _split(image)
    for words, fields in _tables(image, dynamic):
        if fields != 3:
            continue
        for start in range(0, len(words), 3 * _CHUNK):
            view = words[start : start + 3 * _CHUNK].tolist()
            for place, info, addend in zip(view[0::3], view[1::3], view[2::3], strict=True):
                kind = info & mask
                if kind == relative:
                    yield place, 0, addend
                elif kind == absolute:
                    yield place, info >> shift, 0


def _split(image: Image) -> tuple[int, int]:
    """By how much `r_info` is shifted for the symbol index, and its mask for the type."""
    return (32, 0xFFFFFFFF) if image.is64 else (8, 0xFF)
