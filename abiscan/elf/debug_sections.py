"""Debug sections, decompressed if needed (gABI, "Section Compression": SHF_COMPRESSED)."""

from __future__ import annotations

import struct
import zlib
from typing import TYPE_CHECKING, Any, Final

from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.sections import named_sections

if TYPE_CHECKING:
    from abiscan.elf.image import Image
    from abiscan.elf.sections import Section

_SHF_COMPRESSED: Final = 0x800
_ZLIB, _ZSTD = 1, 2


def debug_sections(elf: DynamicFile, names: tuple[bytes, ...], most: int) -> list[memoryview] | None:
    """Contents of these sections: in place if uncompressed, empty if absent. None if they exceed `most` bytes together,
    or one cannot be decompressed: it is damaged, or this Python does not support its method."""
    found = {name: each for name, each in named_sections(elf.image) if name in names}
    contents = []
    for name in names:
        each = found.get(name)
        data = _contents(elf.image, each, most) if each is not None else memoryview(b"")
        if data is None or len(data) > most:
            return None
        most -= len(data)
        contents.append(data)
    return contents


def _contents(image: Image, each: Section, most: int) -> memoryview | None:
    size = min(each.size, image.size - each.offset)
    if not each.flags & _SHF_COMPRESSED:
        return memoryview(image.buffer)[each.offset : each.offset + size] if size <= most else None
    # Elf64_Chdr has a reserved word after the type.
    header = struct.Struct(image.endian + ("I4xQQ" if image.is64 else "III"))
    if size < header.size:
        return None
    packed = image.buffer[each.offset : each.offset + size]
    kind, unpacked, _align = header.unpack_from(packed)
    if unpacked > most:
        return None
    data = _unpacked(kind, packed[header.size :], unpacked)
    return memoryview(data) if data is not None else None


def _unpacked(kind: int, packed: bytes, size: int) -> bytes | None:
    unpacker: Any
    failures: tuple[type[Exception], ...]
    if kind == _ZLIB:
        unpacker, failures = zlib.decompressobj(), (zlib.error,)
    elif kind == _ZSTD:
        from abiscan import zstd

        try:
            unpacker = zstd.decompressor()
        except LookupError:
            return None
        failures = zstd.errors(EOFError)
    else:
        return None
    try:
        data = unpacker.decompress(packed, size)
    except failures:
        return None
    return bytes(data) if len(data) == size else None
