"""Reads an ELF file without its CUDA images, of which only the headers are used: most of a CUDA module is images."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable, Iterator

from abiscan.elf.device_images import CUDA_SECTIONS
from abiscan.elf.fatbin import CONTAINER_HEADER, sizes_at
from abiscan.elf.image import Image
from abiscan.elf.sections import named_sections, read_sections
from abiscan.errors import UnreadableFile, os_error_words
from abiscan.file_buffer import Sparse
from abiscan.model.limits import MAX_LEFT_OUT

# Smaller images are read, and files of whose images fewer bytes would be saved are read whole.
_LEAST_IMAGE, _LEAST = 1 << 13, 1 << 20
# Bytes that are read at once: at the beginning of the file, and for a header of images.
_BEGINNING, _HEADER = 1 << 16, 64

Range = tuple[int, int]


def read_without_images(path: str | os.PathLike[str], descriptor: int, size: int, shown: str) -> Sparse | None:
    """The contents of an open file without its CUDA images; None if it has few or is not an ELF file.

    Args:
        path: where `Sparse.whole` reads the complete contents if a reader needs them.
        size: of the file in bytes.
        shown: its name in messages.

    Raises:
        UnreadableFile: it became shorter while it was read.
        OSError: as read(2).
    """
    buffer = mmap.mmap(-1, size)
    view = memoryview(buffer)

    def read(start: int, end: int) -> None:
        end = min(end, size)
        while start < end:
            count = os.preadv(descriptor, [view[start:end]], start)
            if not count:
                raise UnreadableFile(shown, "it became shorter while it was read")
            start += count

    read(0, _BEGINNING)
    try:
        sections = list(_image_sections(Image(buffer, shown), read))
    except UnreadableFile:
        return None
    left_out: list[Range] = []
    for start, end in sections:
        first = max(start, left_out[-1][1] if left_out else 0)
        left_out += _images(lambda at: os.pread(descriptor, _HEADER, at), first, min(end, size))
    if sum(end - start for start, end in left_out) < _LEAST:
        return None
    at = 0
    for start, end in left_out:
        read(at, start)
        at = end
    read(at, size)
    status = os.fstat(descriptor)
    return Sparse(buffer, left_out, lambda: _read_again(path, status, shown))


def _image_sections(image: Image, read: Callable[[int, int], None]) -> Iterator[Range]:
    """(start, end) of the sections with containers of CUDA images, in the order of the file."""
    read(image.section_offset, image.section_offset + image.section_count * image.section_entry_size)
    sections = read_sections(image)
    if image.section_names < len(sections):
        names = sections[image.section_names]
        read(names.offset, names.offset + names.size)
    found = (each for name, each in named_sections(image) if name in CUDA_SECTIONS)
    yield from sorted((each.offset, each.offset + each.size) for each in found)


def _images(head: Callable[[int], bytes], start: int, end: int) -> Iterator[Range]:
    """(start, end) of the large images in a section, until something else than a container follows.

    Args:
        head: reads the bytes at an offset.
    """
    at = container_end = start
    for _step in range(MAX_LEFT_OUT):
        if at + CONTAINER_HEADER > end:
            return
        data = head(at)
        is_container = at >= container_end
        sizes = sizes_at(data, 0, container=is_container)
        if is_container:
            if sizes is None:
                # Zeros align the next container.
                gap = len(data) - len(data.lstrip(b"\0")) & ~7
                if not gap:
                    return
                at += gap
                container_end = at
            elif at + sum(sizes) > end:
                return
            else:
                container_end = at + sum(sizes)
                at += sizes[0]
        elif sizes is None or at + sum(sizes) > container_end:
            at = container_end
        else:
            if sizes[1] >= _LEAST_IMAGE:
                yield at + sizes[0], at + sum(sizes)
            at += sum(sizes)


def _read_again(path: str | os.PathLike[str], before: os.stat_result, shown: str) -> bytes:
    try:
        with open(path, "rb") as file:
            now = os.fstat(file.fileno())
            is_same = all(getattr(now, key) == getattr(before, key) for key in ("st_dev", "st_ino", "st_mtime_ns"))
            contents = file.read(before.st_size + 1) if is_same else b""
    except OSError as error:
        raise UnreadableFile(shown, f"cannot be read: {os_error_words(error)}") from error
    if len(contents) != before.st_size:
        raise UnreadableFile(shown, "it changed while it was read")
    return contents
