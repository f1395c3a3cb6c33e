"""Cached data of a file is released and read again; data without a source is kept."""

from __future__ import annotations

import mmap
from pathlib import Path

from abiscan.elf import open_elf, read_elf

FILE = Path(__file__).parents[1] / "fixtures" / "good-extension.so"


def test_a_file_is_the_same_after_it() -> None:
    elf = open_elf(FILE)
    elf.image.release(0, elf.size)
    assert elf.buffer[:] == FILE.read_bytes()


def test_memory_without_a_file_is_kept() -> None:
    data = FILE.read_bytes()
    buffer = mmap.mmap(-1, len(data), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    buffer[:] = data
    for held in (buffer, data):
        elf = read_elf(held, "held")
        elf.image.release(0, elf.size)
        assert elf.buffer[:] == data
