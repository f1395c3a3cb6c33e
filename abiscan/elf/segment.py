"""The entries of the program header table (gABI, "Program Header")."""

from __future__ import annotations

from msgspec import Struct

PT_LOAD, PT_DYNAMIC, PT_INTERP, PT_NOTE, PT_TLS = 1, 2, 3, 4, 7


class Segment(Struct, frozen=True):
    """A program header; offsets and sizes in bytes, addresses relative to the load base."""

    type: int
    flags: int
    offset: int
    address: int
    file_size: int
    memory_size: int
    align: int
