"""Universal files: several Mach-O files in one, one for each machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from abiscan.model.macho_facts import MachoSlice

if TYPE_CHECKING:
    import mmap


def read_slices(buffer: bytes | mmap.mmap, path: str) -> tuple[MachoSlice, ...]:
    """The slices of a universal file, in order; the whole file as one slice for a thin file.

    Raises:
        UnreadableFile: it is no Mach-O file, or a slice lies outside of it or overlaps another.
    """
    raise NotImplementedError
