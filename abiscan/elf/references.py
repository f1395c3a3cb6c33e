"""Where the loader writes the address of a symbol: the relocations that refer to it, with their places."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.elf.dynamic import (
    DT_JMPREL,
    DT_PLTREL,
    DT_PLTRELSZ,
    DT_REL,
    DT_RELA,
    DT_RELASZ,
    DT_RELSZ,
)

if TYPE_CHECKING:
    from abiscan.elf.file import ElfFile


class Reference(Struct, frozen=True):
    """One relocation (gABI, "Relocation").

    Attributes:
        place: `r_offset`, the address that is written.
        symbol: index in .dynsym.
        type: `R_<machine>_*`.
        addend: 0 for tables that keep it in place.
    """

    place: int
    symbol: int
    type: int
    addend: int


def references(elf: ElfFile, symbols: Collection[int]) -> Iterator[Reference]:
    """The relocations that refer to one of `symbols` (indices in .dynsym), table by table.

    Raises:
        UnreadableFile: a relocation table lies outside of the file.
    """
    if not symbols:
        return
    image, values = elf.image, elf.dynamic.values
    uses_rela = DT_RELA in values or values.get(DT_PLTREL) == DT_RELA
    word, shift, mask = (8, 32, 0xFFFFFFFF) if image.is64 else (4, 8, 0xFF)
    for table, size_tag, rela in (
        (DT_RELA, DT_RELASZ, True),
        (DT_REL, DT_RELSZ, False),
        (DT_JMPREL, DT_PLTRELSZ, uses_rela),
    ):
        if table not in values or not values.get(size_tag):
            continue
        fields = 3 if rela else 2
        count = values[size_tag] // (fields * word)
        offset = image.offset_of(values[table], "a relocation table")
        view = image.words(offset, count * fields, "Q" if image.is64 else "I", "a relocation table")
        for at, info in enumerate(view[1::fields].tolist()):
            if info >> shift in symbols:
                first = at * fields
                yield Reference(view[first], info >> shift, info & mask, view[first + 2] if rela else 0)
