"""A file that was unpacked in part: what nobody asks for was left out, and comes when somebody asks after all.

Most of a large member of a wheel is images for GPUs, of which the headers are all that is read. Nothing is believed of
the file for that. What was left out must lie in a section for GPUs and in nothing else that is read by its place in the
file (`is_readable`), else the file is unpacked whole at once; what is read by its address in memory is checked as it is
read (`Image.need`), and the file unpacked whole then.
"""

from __future__ import annotations

from abiscan.elf.device_images import SECTIONS
from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.sections import named_sections
from abiscan.elf.segment import PT_LOAD
from abiscan.file_buffer import Sparse

PT_GNU_STACK, PT_GNU_RELRO = 0x6474E551, 0x6474E552
# Segments of whose bytes nothing is read for the segment's sake.
_UNREAD = (PT_LOAD, PT_GNU_STACK, PT_GNU_RELRO)


def is_readable(elf: DynamicFile, sparse: Sparse) -> bool:
    """Whether what was left out is images for GPUs and nothing else: no table of the file, no other section.

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
