"""The build id, and the compilers that left their name in .comment."""

from __future__ import annotations

import struct

from abiscan.elf.image import Image
from abiscan.elf.sections import section
from abiscan.elf.segment import PT_NOTE

_NT_GNU_BUILD_ID = 3
_NT_GNU_PROPERTY_TYPE_0 = 5
_X86_ISA_1_NEEDED = 0xC0008002
_MAX_NOTES = 64
_MAX_COMMENT = 1 << 16


def build_id(image: Image) -> str | None:
    """The GNU build id in hexadecimal, or None; a damaged note is read as no note."""
    layout = struct.Struct(image.endian + "III")
    for segment in image.segments:
        if segment.type != PT_NOTE:
            continue
        align = 8 if segment.align == 8 else 4
        at, end = segment.offset, min(segment.offset + segment.file_size, image.size)
        for _ in range(_MAX_NOTES):
            if at + layout.size > end:
                break
            name_size, desc_size, kind = layout.unpack_from(image.buffer, at)
            name_at = at + layout.size
            # With 8-byte alignment (NT_GNU_PROPERTY) the descriptor starts at a multiple of 8 from the note.
            desc_at = at + -(-(layout.size + name_size) // align) * align
            if desc_at + desc_size > end:
                break
            if kind == _NT_GNU_BUILD_ID and image.buffer[name_at : name_at + name_size] == b"GNU\0":
                return image.buffer[desc_at : desc_at + desc_size].hex() if desc_size <= 64 else None
            at = desc_at + -(-desc_size // align) * align
    return None


def x86_isa_needed(image: Image) -> int:
    """GNU_PROPERTY_X86_ISA_1_NEEDED: a bit for each level that the file asks of the CPU (1 baseline, 2 x86-64-v2, 4 v3,
    8 v4); 0 where it asks nothing (x86-64 psABI, "Program Property")."""
    head = struct.Struct(image.endian + "III")
    entry = struct.Struct(image.endian + "II")
    for segment in image.segments:
        if segment.type != PT_NOTE or segment.align != 8:
            continue
        at, end = segment.offset, min(segment.offset + segment.file_size, image.size)
        if at + 16 > end or head.unpack_from(image.buffer, at)[::2] != (4, _NT_GNU_PROPERTY_TYPE_0):
            continue
        end = min(end, at + 16 + head.unpack_from(image.buffer, at)[1])
        at += 16
        while at + 12 <= end:
            kind, size = entry.unpack_from(image.buffer, at)
            if kind == _X86_ISA_1_NEEDED and size == 4:
                return int.from_bytes(image.buffer[at + 8 : at + 12], "little")
            at += 8 + -(-size // 8) * 8
    return 0


def compilers(image: Image) -> tuple[str, ...]:
    """The distinct strings of .comment, in order; empty where the section was stripped."""
    found = section(image, b".comment")
    if found is None:
        return ()
    offset, size = found
    text = image.buffer[offset : offset + min(size, _MAX_COMMENT)]
    strings = [part.decode("utf-8", "replace").strip() for part in text.split(b"\0")]
    return tuple(dict.fromkeys(s for s in strings if s))


def has_sections(image: Image) -> bool:
    """Whether a section header table is there and inside the file."""
    return bool(
        image.section_offset
        and image.section_count
        and image.section_offset + image.section_count * image.section_entry_size <= image.size
    )
