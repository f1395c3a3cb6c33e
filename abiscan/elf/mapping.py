"""The memory of a file after its segments are mapped, as by `_dl_map_segments` of glibc (elf/dl-map-segments.h).

Segments are mapped in the order of their program headers, in whole pages, each over the previous ones; after the bytes
of the file, a segment is zero up to its size in memory. So the program header of an address does not yet determine what
the loader reads there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter

from msgspec import Struct

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_TLS = 1, 2, 3, 4, 7
PT_GNU_STACK, PT_GNU_RELRO = 0x6474E551, 0x6474E552
PF_X, PF_W, PF_R = 1, 2, 4
# All supported machines have pages of at least 4 KiB; files for larger pages have segments aligned to those.
PAGE = 4096
# No supported machine has more user address space, in bytes.
MAX_ADDRESS_SPACE = 1 << 47
# Larger than any library: beyond this, success depends on memory and limits of the machine, in bytes.
MAX_CERTAIN_SIZE = 4 << 30


class Segment(Struct, frozen=True):
    """A program header; offsets and sizes in bytes, addresses relative to the load base."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    align: int


def thread_local(segments: Sequence[Segment]) -> Segment | None:
    """The segment of thread-local variables that the loader uses: the last one that is not empty
    (_dl_map_object_from_fd in elf/dl-load.c of glibc)."""
    return next((s for s in reversed(segments) if s.type == PT_TLS and s.memory_size), None)


class Area(Struct, frozen=True):
    """A range of memory with one origin; addresses are relative to the load base.

    Attributes:
        start, end: first address and the one after the last.
        offset: file offset of `start`; None for zero bytes that the loader provides.
        flags: PF_R, PF_W and PF_X of the segment mapped last.
    """

    start: int
    end: int
    offset: int | None
    flags: int

    @property
    def is_readable(self) -> bool:
        """Whether reads certainly work: on all supported machines write permission implies it, execute permission does
        not."""
        return bool(self.flags & (PF_R | PF_W))


def map_segments(loads: Sequence[Segment], *, is_dynamic: bool) -> tuple[Area, ...]:
    """The areas of the PT_LOAD segments, sorted and disjoint.

    Args:
        is_dynamic: a shared object, whose first mapping covers the range of all segments.
    """
    areas: list[Area] = []
    for number, segment in enumerate(loads):
        start, end = page_start(segment.address), page_end(segment.address + segment.file_size)
        if number == 0 and len(loads) == 1 and is_dynamic:
            end = page_end(segment.address + segment.memory_size)
        offset = segment.offset - (segment.address - start)
        if end > start:
            areas = _paint(areas, Area(start, end, offset, segment.flags))
        data_end, room_end = segment.address + segment.file_size, segment.address + segment.memory_size
        if room_end > data_end:
            zero_pages = page_end(data_end)
            if zero_pages > data_end:
                areas = _paint(areas, Area(data_end, min(room_end, zero_pages), None, segment.flags))
            if room_end > zero_pages:
                areas = _paint(areas, Area(zero_pages, page_end(room_end), None, segment.flags))
    return tuple(areas)


def _paint(areas: list[Area], new: Area) -> list[Area]:
    """The areas with `new` placed over them."""
    if not areas or areas[-1].end <= new.start:
        return [*areas, new]
    # If only the last one can be covered, as nearly always, the others stay in order.
    first = len(areas) - 1 if areas[-1].start <= new.start else 0
    kept = []
    for each in areas[first:]:
        if each.start < new.start and each.end > each.start:
            kept.append(Area(each.start, min(each.end, new.start), each.offset, each.flags))
        if each.end > new.end:
            cut = max(new.end - each.start, 0)
            offset = None if each.offset is None else each.offset + cut
            kept.append(Area(each.start + cut, each.end, offset, each.flags))
    return [*areas[:first], *sorted([*kept, new], key=attrgetter("start"))]


def read_only_pages(segments: Sequence[Segment]) -> tuple[int, int]:
    """(start, end) of the pages that the loader makes read-only after relocation, equal if there are none: those of the
    last PT_GNU_RELRO, without a last page that it covers only in part (`_dl_protect_relro` in elf/dl-reloc.c)."""
    relro = next((s for s in reversed(segments) if s.type == PT_GNU_RELRO), None)
    if relro is None or not relro.memory_size:
        return 0, 0
    return page_start(relro.address), page_start(relro.address + relro.memory_size)


def protected(areas: tuple[Area, ...], start: int, end: int) -> tuple[Area, ...]:
    """The areas with an address range made read-only and not executable."""
    if start >= end:
        return areas
    found: list[Area] = []
    for area in areas:
        cuts = sorted({area.start, area.end, *(at for at in (start, end) if area.start < at < area.end)})
        for first, last in pairwise(cuts):
            offset = None if area.offset is None else area.offset + first - area.start
            found.append(Area(first, last, offset, PF_R if start <= first < end else area.flags))
    return tuple(found)


def refusal(loads: Sequence[Segment]) -> str | None:
    """glibc's error for a shared object whose segments cannot be mapped in any process; None if they can."""
    first, last = loads[0], loads[-1]
    length = (last.address + last.memory_size - page_start(first.address)) % (1 << 64)
    align = max((s.align for s in loads if s.align & (s.align - 1) == 0), default=0)
    if align > PAGE:
        length = max(length, align) + align if length else 0
    if length == 0 or length >= MAX_ADDRESS_SPACE:
        return "failed to map segment from shared object"
    ends = [page_end(s.address + s.file_size) for s in loads]
    holes = any(end != page_start(s.address) for end, s in zip(ends, loads[1:], strict=False))
    if holes and page_start(last.address) < ends[0]:
        # Since glibc 2.35; before, the attempt itself fails ("cannot change memory protections").
        return "ELF load command address/offset not page-aligned"
    # Closer to 2**64 the sum with the load base wraps around, and nothing is mapped.
    if any(s.file_size + MAX_ADDRESS_SPACE <= s.memory_size < (1 << 64) - MAX_ADDRESS_SPACE - s.address for s in loads):
        return "cannot map zero-fill pages"
    return None


def doubt(loads: Sequence[Segment]) -> str | None:
    """Why the result of mapping the segments is unknown, as a predicate of the file name; None if it is known."""
    start = page_start(loads[0].address)
    end = page_end(loads[-1].address + loads[-1].memory_size)
    if end - start > MAX_CERTAIN_SIZE or any(s.align > MAX_CERTAIN_SIZE for s in loads):
        return f"needs {end - start} bytes of address space, which not every machine has"
    for segment in loads:
        if segment.address < start or segment.address + max(segment.file_size, segment.memory_size) > end:
            return "has a segment outside of the range that the loader reserves for it"
    return None


def is_unmapped(loads: Sequence[Segment], address: int) -> bool:
    """Whether an address outside of the file's areas is certainly not mapped: it lies between segments, which the
    loader keeps free, or outside of every address space."""
    is_between = page_start(loads[0].address) <= address < page_end(loads[-1].address + loads[-1].memory_size)
    return is_between or MAX_ADDRESS_SPACE <= address < (1 << 64) - MAX_ADDRESS_SPACE


def area_at(areas: tuple[Area, ...], address: int) -> Area | None:
    """Find the area that contains an address."""
    number = bisect_right(areas, address, key=_start) - 1
    return areas[number] if number >= 0 and address < areas[number].end else None


_start = attrgetter("start")


def mapped_runs(areas: tuple[Area, ...]) -> list[tuple[int, int]]:
    """(start, end) of mapped memory, adjacent areas joined."""
    found: list[tuple[int, int]] = []
    for area in areas:
        if found and found[-1][1] == area.start:
            found[-1] = (found[-1][0], area.end)
        else:
            found.append((area.start, area.end))
    return found


def writable_runs(areas: tuple[Area, ...]) -> list[tuple[int, int]]:
    """(start, end) of writable memory, adjacent areas joined."""
    return mapped_runs(tuple(area for area in areas if area.flags & PF_W))


def covers(runs: list[tuple[int, int]], address: int, size: int) -> bool:
    """Whether one of the runs contains `size` bytes at an address."""
    return any(start <= address and address + size <= end for start, end in runs)


def first_outside(runs: list[tuple[int, int]], address: int, size: int) -> int | None:
    """Return the address of the first of `size` bytes that is in none of the sorted runs; None if there is none."""
    at = address
    for start, end in runs:
        if start <= at < end:
            at = end
    return at if at < address + size else None


def page_start(address: int) -> int:
    """The start of its page."""
    return address & -PAGE


def page_end(address: int) -> int:
    """The first page start at or after an address."""
    return -(-address // PAGE) * PAGE
