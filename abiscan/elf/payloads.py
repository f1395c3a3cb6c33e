"""GPU images in a file that is read from front to back: the bytes that need not be kept.

Containers are recognised by their headers (`fatbin`, `offload_bundle`) anywhere in the file, because section names come
at its end. A false match costs a second decompression and changes nothing (`sparse`).
"""

from __future__ import annotations

from msgspec import Struct

from abiscan.elf import fatbin, offload_bundle
from abiscan.elf.image import Image
from abiscan.elf.mapping import PF_W, PF_X, PT_LOAD
from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_LEFT_OUT

# Smaller payloads are kept.
_LEAST = 1 << 13
# Bytes of a compressed bundle from which its table of contents is read: one zstd block and what may precede it.
_COMPRESSED_HEAD = 1 << 18


class _Kind(Struct, frozen=True):
    """A kind of container.

    Attributes:
        header: number of bytes needed to read it.
        align: alignment in the file; containers at other offsets are kept.
        rare: index of the byte of the beginning that is searched for at these offsets.
    """

    beginning: bytes
    header: int
    align: int
    rare: int


# nvcc aligns containers to 8 bytes, clang bundles to a page. Searching for each beginning at every offset took a third
# of the time of decompression, searching for one byte at these offsets a tenth of that.
_KINDS = (
    _Kind(fatbin.BEGINNING, fatbin.CONTAINER_HEADER, 8, 1),
    _Kind(offload_bundle.MAGIC, offload_bundle.MAX_TABLE, 1 << 12, 0),
    _Kind(offload_bundle.COMPRESSED_MAGIC + b"\2\0", 32, 1 << 12, 0),
    _Kind(offload_bundle.COMPRESSED_MAGIC + b"\3\0", 32, 1 << 12, 0),
)
_LONGEST = max(len(kind.beginning) for kind in _KINDS)
# If the byte is not rare, the whole beginning is searched for.
_RARE = 16


class Payloads:
    """The payloads of one file of `size` bytes, which is passed to `look` in order.

    Attributes:
        left_out: (start, end) of the ranges left out so far, sorted.
        skip: bytes before this offset need not be passed any more.
    """

    def __init__(self, size: int) -> None:
        self.left_out: list[tuple[int, int]] = []
        self.skip = 0
        self._size = size
        self._plain = 0  # bytes before it are kept, whatever they look like
        self._hole_end = self._container_end = 0
        self._places: list[tuple[int, int]] | None = None

    def look(self, block: bytes, at: int) -> tuple[list[tuple[int, int]], int]:
        """(start, end) of the ranges to keep of `block` at offset `at`, and the offset from which it must be passed
        again together with what follows."""
        if self._places is None:
            self._places = _places(block) or [(0, self._size)]
        end = at + len(block)
        final = end >= self._size
        following: dict[int, int] = {}
        kept: list[tuple[int, int]] = []
        place = at
        while place < end:
            if place < self._plain:
                stop = min(self._plain, end)
                kept.append((place, stop))
                place = stop
            elif place < self._hole_end:
                self.skip = self._hole_end
                place = min(self.skip, end)
            elif place < self._container_end:
                if place + fatbin.LEAST_HEADER > end and not final:
                    return kept, place
                sizes = fatbin.sizes_at(block, place - at, container=False)
                if sizes is None or place + sum(sizes) > self._container_end:
                    self._container_end = 0
                else:
                    self._leave_out(place + sizes[0], place + sum(sizes))
            else:
                start, needed = self._find(block, at, place, following)
                if start is None:
                    searched = any(first < end < last for first, last in self._places)
                    stop = max(place, end - _LONGEST) if searched and not final else end
                    kept.append((place, stop))
                    return kept, stop
                kept.append((place, start))
                if start + needed > end and not final:
                    return kept, start
                self._plain = start + _LONGEST
                self._enter(block, start - at, start)
                place = start
        return kept, end

    def _find(self, block: bytes, at: int, place: int, following: dict[int, int]) -> tuple[int | None, int]:
        """The first possible start of a container from `place` on, and the number of bytes needed to read it."""
        best: int | None = None
        needed = 0
        for number, kind in enumerate(_KINDS):
            found = following.get(number, -1)
            if found < place:
                found = following[number] = self._search(block, at, place, kind)
            if found < self._size and (best is None or found < best):
                best, needed = found, kind.header
        return best, needed

    def _search(self, block: bytes, at: int, place: int, kind: _Kind) -> int:
        beginning, align = kind.beginning, kind.align
        for first, last in self._places or ():
            start, end = max(first, place), min(last, at + len(block))
            if start >= end:
                continue
            start += -start % align
            rare, byte = block[start - at + kind.rare : end - at : align], beginning[kind.rare]
            if rare.count(byte) > len(rare) // _RARE + 1:
                found = block.find(beginning, start - at, end - at)
                if found >= 0:
                    return at + found
                continue
            found = rare.find(byte)
            while found >= 0:
                if block.startswith(beginning, start - at + found * align):
                    return start + found * align
                found = rare.find(byte, found + 1)
        return self._size

    def _enter(self, block: bytes, at: int, start: int) -> None:
        """Read a possible container at `at` of the block, which is `start` of the file."""
        sizes = fatbin.sizes_at(block, at, container=True)
        if sizes is not None:
            if start + sum(sizes) <= self._size:
                self._plain, self._container_end = start + sizes[0], start + sum(sizes)
            return
        table = offload_bundle.table_at(block, at)
        if table is not None:
            self._leave_out(start - at + table[0], start - at + table[1])
            return
        size = offload_bundle.compressed_size(block, at)
        if size is not None:
            self._leave_out(start + _COMPRESSED_HEAD, start + size)

    def _leave_out(self, start: int, end: int) -> None:
        """Leave out a payload; everything before it is kept."""
        if end > self._size:
            return
        if end - start < _LEAST or len(self.left_out) >= MAX_LEFT_OUT:
            self._plain = max(self._plain, end)
            return
        self._plain, self._hole_end = start, end
        self.left_out.append((start, end))


def _places(head: bytes) -> list[tuple[int, int]]:
    """(start, end) of the file that its program headers map read-only, or with its code if that is not separate:
    searching everything would take half as long as decompression. Empty if the headers are unreadable."""
    try:
        loads = [s for s in Image(head, "").segments if s.type == PT_LOAD]
    except UnreadableFile:
        return []
    read = [s for s in loads if not s.flags & (PF_W | PF_X)] or [s for s in loads if not s.flags & PF_W]
    return [(s.offset, s.offset + s.file_size) for s in read]
