"""Dynamic relocations: which symbols the loader looks up, and in which order.

glibc's loader goes through DT_RELR (no symbols), then DT_RELA or DT_REL from its start, then DT_JMPREL (elf/do-rel.h
and elf/dynamic-link.h in its sources); a symbol that no relocation refers to is never looked up.
"""

from __future__ import annotations

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

# Relocation types that look nothing up even where the symbol field is set: R_*_NONE is 0 on every machine here but
# aarch64, where ELF64 also has 256.
_NONE = {"aarch64": (0, 256)}


def relocated_symbols(image: Image, dynamic: Dynamic) -> list[tuple[int, int]]:
    """(symbol index, relocation type) of the relocations that refer to a symbol, in the order in which the loader first
    meets each pair.

    Raises:
        UnreadableFile: a relocation table lies outside of the file.
    """
    values = dynamic.values
    met: dict[int, None] = {}
    none = _NONE.get(image.machine, (0,))
    uses_rela = DT_RELA in values or values.get(DT_PLTREL) == DT_RELA
    # The leading DT_RELACOUNT entries are relative ones, which name no symbol; libraries have ten thousands of them.
    for table, size_tag, count_tag, rela in (
        (DT_RELA, DT_RELASZ, DT_RELACOUNT, True),
        (DT_REL, DT_RELSZ, DT_RELCOUNT, False),
        (DT_JMPREL, DT_PLTRELSZ, None, uses_rela),
    ):
        if table not in values or not values.get(size_tag):
            continue
        fields = 3 if rela else 2
        word = 8 if image.is64 else 4
        entry = fields * word
        count = values[size_tag] // entry
        offset = image.offset_of(values[table], "a relocation table")
        skip = min(values.get(count_tag, 0), count) if count_tag is not None else 0
        view = image.words(
            offset + skip * entry, (count - skip) * fields, "Q" if image.is64 else "I", "a relocation table"
        )
        # For a JMPREL that lies inside DT_RELA (some linkers), the second visit changes nothing. A library has up to a
        # hundred relocations for each pair, so they are made distinct before they are taken apart.
        met.update(dict.fromkeys(view[1::fields].tolist()))
    if image.is64:
        order = [(info >> 32, info & 0xFFFFFFFF) for info in met if info >> 32]
    else:
        order = [(info >> 8, info & 0xFF) for info in met if info >> 8]
    if any(kind in none for _, kind in order):
        order = [pair for pair in order if pair[1] not in none]
    return order
