"""A partly unpacked file: parts that are not needed are left out, and the whole file is unpacked if one is read.

Most of a large wheel member is GPU images, of which only the headers are read. The file is not trusted for that: what
was left out must lie in a section for GPU images and in nothing else that is read by file offset (`is_readable`),
otherwise the whole file is unpacked at once. Reads by memory address are checked as they happen (`Image.need`), and
unpack the whole file then.
"""

from __future__ import annotations

from abiscan.elf.device_images import SECTIONS
from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.mapping import PT_GNU_RELRO, PT_GNU_STACK, PT_LOAD
from abiscan.elf.sections import named_sections
from abiscan.file_buffer import Sparse

# Segment types whose bytes are not read as such.
_UNREAD = (PT_LOAD, PT_GNU_STACK, PT_GNU_RELRO)


def is_readable(elf: DynamicFile, sparse: Sparse) -> bool:
    """Whether only GPU images were left out: no table of the file, no other section.

    Raises:
        UnreadableFile: a table lies outside of the file.
    """
    from abiscan.elf.lookup_ranges import lookup_ranges

    image = elf.image
    read = [image.header_table, (image.section_offset, image.section_offset + image.section_count * 64)]
    read += [(at, at + size) for at, size in lookup_ranges(elf, guessed=False)]
    read += [(s.offset, s.offset + s.file_size) for s in image.segments if s.type not in _UNREAD]
    images: list[tuple[int, int]] = []
    for name, each in named_sections(image):
        (images if name in SECTIONS else read).append((each.offset, each.offset + each.size))
    return all(any(start <= at and stop <= end for start, end in images) for at, stop in sparse.left_out) and not any(
        sparse.lacks(start, end) for start, end in read
    )
