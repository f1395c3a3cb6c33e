"""The unpacked shared objects of one archive: few in full, all that were met with their tables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

from abiscan.elf import ElfFile
from abiscan.elf.tables import lookup_ranges
from abiscan.targets.inflate import Buffer, anonymous


class KeptFiles:
    """A cache with two shelves: whole files up to `budget` bytes together, least recently used first out; and what is
    left of those that went, a copy of their tables alone, a few per cent of their size.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._whole: OrderedDict[Hashable, ElfFile] = OrderedDict()
        self._tables: dict[Hashable, ElfFile] = {}

    def allow(self, size: int) -> None:
        """A file of `size` bytes is among the ones to come: keep room for it."""
        self._budget = max(self._budget, size)

    def whole(self, key: Hashable, size: int, display: str, unpack: Callable[[], Buffer]) -> ElfFile:
        """The file in full, unpacked if it is not kept."""
        found = self._whole.get(key)
        if found is not None:
            self._whole.move_to_end(key)
            return found
        self._make_room(size)
        elf = ElfFile(unpack(), display)
        self._whole[key] = elf
        return elf

    def tables(self, key: Hashable, size: int, display: str, unpack: Callable[[], Buffer]) -> ElfFile:
        """The file, or its tables, whichever is kept."""
        found = self._tables.get(key)
        return found if found is not None else self.whole(key, size, display, unpack)

    def has(self, key: Hashable) -> bool:
        """Whether the file is kept in full."""
        return key in self._whole

    def _make_room(self, size: int) -> None:
        total = sum(elf.image.size for elf in self._whole.values())
        while self._whole and total + size > self._budget:
            key, elf = self._whole.popitem(last=False)
            total -= elf.image.size
            if key not in self._tables:
                self._tables[key] = _tables_of(elf)


def _tables_of(elf: ElfFile) -> ElfFile:
    """A copy with holes. The original may still be in someone's hands, so it is not cut down itself."""
    image = elf.image
    copy = anonymous(image.size, elf.path, filled=False)
    for at, size in lookup_ranges(elf):
        copy[at : at + size] = image.buffer[at : at + size]
    return ElfFile(copy, elf.path)
