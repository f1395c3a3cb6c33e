"""The imports of LC_DYLD_CHAINED_FIXUPS (<mach-o/fixup-chains.h>)."""

from __future__ import annotations

import struct
from typing import Final

from abiscan.macho.macho_image import MachoImage
from abiscan.model.limits import MAX_IMPORTS

_HEADER = struct.Struct("<IIIIIII")
# DYLD_CHAINED_IMPORT, ..._ADDEND, ..._ADDEND64.
_ENTRIES: Final = {1: struct.Struct("<I"), 2: struct.Struct("<Ii"), 3: struct.Struct("<QQ")}


def chained_imports(image: MachoImage, offset: int, size: int) -> list[tuple[bytes, int, bool]]:
    """(name, ordinal, weak import) of each entry of the imports table, at an offset of the slice.

    Raises:
        UnreadableFile: a table lies outside of the other, is compressed or of an unknown format, or has more than
            MAX_IMPORTS entries.
    """
    what = "the chained fixups"
    if size < _HEADER.size:
        raise image.corrupt(f"{what} have {size} bytes")
    header = image.piece(offset, _HEADER.size, what)
    _, _, imports, symbols, count, kind, packing = _HEADER.unpack(header)
    if packing:
        raise image.corrupt("compressed symbol names in its chained fixups")
    layout = _ENTRIES.get(kind)
    if layout is None:
        raise image.corrupt(f"unknown format {kind} of the imports in its chained fixups")
    if count > MAX_IMPORTS or imports + count * layout.size > size or symbols > size:
        raise image.corrupt(f"{what} end outside of their {size} bytes")
    rows = layout.iter_unpack(image.piece(offset + imports, count * layout.size, what))
    words = [row[0] for row in rows]
    # Ordinals are signed in all formats: the highest values stand for the special lookups.
    if kind == 3:
        fields = [(word >> 32, word & 0xFFFF, 0x10000, bool(word >> 16 & 1)) for word in words]
    else:
        fields = [(word >> 9, word & 0xFF, 0x100, bool(word >> 8 & 1)) for word in words]
    start, end = image.slice_start + offset + symbols, image.slice_start + offset + size
    names = image.strings([start + name for name, _, _, _ in fields], end)
    return [
        (name, ordinal - span if ordinal > span - 16 else ordinal, weak)
        for name, (_, ordinal, span, weak) in zip(names, fields, strict=True)
    ]
