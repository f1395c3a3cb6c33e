"""Strings of a file's read-only data, and of its static symbol table."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.elf.image import Image
from abiscan.elf.mapping import PF_W
from abiscan.elf.sections import named_sections, section
from abiscan.elf.segment import PT_LOAD


def strings_with(image: Image, part: bytes, gap: int | None = None) -> Iterator[bytes]:
    """`FileBuffer.strings_with` over the read-only data sections, or over the segments without PF_W if there are none.

    Args:
        gap: linkers merge the strings of all objects (gABI, "SHF_MERGE"): related strings are adjacent.
    """
    return image.strings_with(part, read_only_data(image), gap)


def symbol_names_with(image: Image, part: bytes, gap: int) -> Iterator[bytes]:
    """As `strings_with`, for the names of its static symbols; none if they were stripped."""
    names = section(image, b".strtab")
    return image.strings_with(part, [] if names is None else [names], gap)


def read_only_data(image: Image) -> list[tuple[int, int]]:
    """(offset, size) of the read-only data of a file, clipped to it."""
    found = [
        (each.offset, each.size) for name, each in named_sections(image) if name.startswith((b".rodata", b".lrodata"))
    ]
    if not found:
        found = [(s.offset, s.file_size) for s in image.segments if s.type == PT_LOAD and not s.flags & PF_W]
    return [(offset, min(size, image.size - offset)) for offset, size in found if offset < image.size]
