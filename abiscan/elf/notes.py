"""The build id, the required x86-64 level, and the compilers in .comment."""

from __future__ import annotations

import struct

from abiscan.elf.image import Image
from abiscan.elf.mapping import PT_NOTE
from abiscan.elf.sections import section

_NT_GNU_BUILD_ID = 3
_NT_GNU_PROPERTY_TYPE_0 = 5
_X86_ISA_1_NEEDED = 0xC0008002
# GNU_PROPERTY_1_NEEDED, GNU_PROPERTY_X86_FEATURE_1_AND and the levels: values of four bytes.
_FOUR_BYTES = (0xB0008000, 0xC0000002, _X86_ISA_1_NEEDED)
# Levels that glibc knows: baseline, x86-64-v2, v3 and v4 (sysdeps/x86/get-isa-level.h); it treats any other as
# supported by no CPU.
X86_KNOWN_LEVELS = 0b1111
_MAX_NOTES = 64
_MAX_COMMENT = 1 << 16


def build_id(image: Image) -> str | None:
    """The GNU build id in hexadecimal; None if absent or damaged."""
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
    """GNU_PROPERTY_X86_ISA_1_NEEDED: a bit for each level that the file requires of the CPU (1 baseline, 2 x86-64-v2, 4
    v3, 8 v4); 0 if it requires none (x86-64 psABI, "Program Property").

    The loader reads only the last note segment that is aligned to 8 bytes, whatever it contains
    (`_dl_process_property_note` in sysdeps/x86/dl-prop.h of glibc).
    """
    segment = next((s for s in reversed(image.segments) if s.type == PT_NOTE and s.align == 8), None)
    if segment is None:
        return 0
    head = struct.Struct(image.endian + "III")
    at, end = segment.offset, min(segment.offset + segment.memory_size, image.size)
    found: int | None = None
    while at + head.size < end:
        name_size, desc_size, kind = head.unpack_from(image.buffer, at)
        if name_size == 4 and kind == _NT_GNU_PROPERTY_TYPE_0 and image.buffer[at + 12 : at + 16] == b"GNU\0":
            if found is not None:
                return 0
            found = _isa_property(image, at + 16, desc_size)
            if found is None:
                return 0
        desc_at = at + -(-(head.size + name_size) // 8) * 8
        at = desc_at + -(-desc_size // 8) * 8
    return found or 0


def _isa_property(image: Image, at: int, size: int) -> int | None:
    """The levels of one property note; None if the loader ignores the note."""
    entry = struct.Struct(image.endian + "II")
    end = at + size
    if size < 8 or size % 8:
        return None
    last = 0
    while end - at >= entry.size and at + entry.size <= image.size:
        kind, length = entry.unpack_from(image.buffer, at)
        at += entry.size
        if kind < last or at + length > end or (kind in _FOUR_BYTES and length != 4):
            return None
        last = kind
        if kind == _X86_ISA_1_NEEDED:
            return int.from_bytes(image.buffer[at : at + 4], "little")
        if kind > _X86_ISA_1_NEEDED:
            break
        at += -(-length // 8) * 8
    return 0


def compilers(image: Image) -> tuple[str, ...]:
    """The distinct strings of .comment, in order; empty if the section was stripped."""
    found = section(image, b".comment")
    if found is None:
        return ()
    offset, size = found
    text = image.buffer[offset : offset + min(size, _MAX_COMMENT)]
    strings = [part.decode("utf-8", "replace").strip() for part in text.split(b"\0")]
    return tuple(dict.fromkeys(s for s in strings if s))


def has_sections(image: Image) -> bool:
    """Whether the file has a section header table inside the file."""
    return bool(
        image.section_offset
        and image.section_count
        and image.section_offset + image.section_count * image.section_entry_size <= image.size
    )
