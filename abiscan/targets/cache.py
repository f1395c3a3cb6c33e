"""The unpacked shared objects of one archive: few in full, all that were met with their tables."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable, Hashable

from abiscan.binary import Binary, read_binary
from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_IN_MEMORY, MAX_TABLES_IN_MEMORY
from abiscan.targets.unpacked import Buffer, in_part


class KeptFiles:
    """A cache with two shelves: whole files up to `budget` bytes together, least recently used first out; and what is
    left of those that went, a copy of their tables alone, a few per cent of their size. Of the files that are too large
    for memory one is kept in full, whatever the budget.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._whole: OrderedDict[Hashable, Binary] = OrderedDict()
        self._tables: dict[Hashable, Binary] = {}
        self._tables_size = 0

    def allow(self, size: int) -> None:
        """A file of `size` bytes is among the ones to come: keep room for it."""
        if size <= MAX_IN_MEMORY:
            self._budget = max(self._budget, size)

    def whole(self, key: Hashable, size: int, display: str, unpack: Callable[[], Buffer]) -> Binary:
        """The file in full, unpacked if it is not kept."""
        found = self._whole.get(key)
        if found is not None:
            self._whole.move_to_end(key)
            return found
        self._make_room(size)
        binary = read_binary(unpack(), display)
        self._whole[key] = binary
        return binary

    def tables(self, key: Hashable, size: int, display: str, unpack: Callable[[], Buffer]) -> Binary:
        """The file, or its tables, whichever is kept."""
        found = self._tables.get(key)
        return found if found is not None else self.whole(key, size, display, unpack)

    def has(self, key: Hashable) -> bool:
        """Whether the file is kept in full."""
        return key in self._whole

    def _make_room(self, size: int) -> None:
        large = size > MAX_IN_MEMORY
        alike = [(key, each.size) for key, each in self._whole.items() if (each.size > MAX_IN_MEMORY) is large]
        total = sum(each for _, each in alike)
        for key, each in alike:
            if not large and total + size <= self._budget:
                break
            total -= each
            binary = self._whole.pop(key)
            if key not in self._tables:
                with contextlib.suppress(UnreadableFile):  # no room: it is unpacked again when it is asked for
                    self._tables[key] = self._tables_of(binary)

    def _tables_of(self, binary: Binary) -> Binary:
        """A copy with holes. The original may still be in someone's hands, so it is not cut down itself."""
        ranges = binary.lookup_ranges()
        size = sum(length for _, length in ranges)
        in_memory = self._tables_size + size <= MAX_TABLES_IN_MEMORY
        self._tables_size += size if in_memory else 0
        return read_binary(in_part(binary.buffer, ranges, binary.path, in_memory=in_memory), binary.path)
