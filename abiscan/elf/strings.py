"""Strings of a file's read-only data, and of the table of its static symbols."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from abiscan.elf.image import Image
from abiscan.elf.mapping import PF_W
from abiscan.elf.sections import named_sections, section
from abiscan.elf.segment import PT_LOAD
from abiscan.model.limits import MAX_STRING, MAX_STRING_DATA


def strings_with(image: Image, part: bytes, gap: int | None = None) -> Iterator[bytes]:
    """The strings that contain `part`, without the zero byte that ends each, in the order of the file.

    Looked for in the sections of read-only data, in what the segments map without PF_W where there are none; up to
    MAX_STRING_DATA bytes in all. A string that is longer than MAX_STRING is left out.

    Args:
        gap: bytes behind one such string of a section after which the next is given up; None for no such
            limit. Linkers put the texts of all objects side by side (gABI, "SHF_MERGE"): what belongs together lies
            together.
    """
    return _strings_with(image, part, _read_only(image), gap)


def symbol_names_with(image: Image, part: bytes, gap: int | None = None) -> Iterator[bytes]:
    """The same of the names of its static symbols; none where they were stripped."""
    names = section(image, b".strtab")
    return _strings_with(image, part, [] if names is None else [names], gap)


def _strings_with(image: Image, part: bytes, places: Iterable[tuple[int, int]], gap: int | None) -> Iterator[bytes]:
    budget = MAX_STRING_DATA
    for start, size in places:
        end = start + min(size, budget)
        budget -= end - start
        image.need(start, end)
        buffer = image.buffer
        find, rfind = buffer.find, buffer.rfind
        at = find(part, start, end)
        while at >= 0:
            first = rfind(b"\0", max(start, at - MAX_STRING), at) + 1 or start
            last = find(b"\0", at, min(end, at + MAX_STRING))
            if last < 0:
                break
            if first > at - MAX_STRING:
                yield buffer[first:last]
            at = find(part, last, end if gap is None else min(end, last + gap))


def _read_only(image: Image) -> list[tuple[int, int]]:
    """(offset, size), clipped to the file."""
    found = [
        (each.offset, each.size) for name, each in named_sections(image) if name.startswith((b".rodata", b".lrodata"))
    ]
    if not found:
        found = [(s.offset, s.file_size) for s in image.segments if s.type == PT_LOAD and not s.flags & PF_W]
    return [(offset, min(size, image.size - offset)) for offset, size in found if offset < image.size]
