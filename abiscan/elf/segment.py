"""The entries of the program header table (gABI, "Program Header")."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_TLS = 1, 2, 3, 4, 7
PT_GNU_RELRO = 0x6474E552


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
