"""The unpacked shared objects of one archive: few in full, all that were met with their tables."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable

from abiscan.binary import Binary, read_binary
from abiscan.targets.inflate import Buffer, anonymous


class KeptFiles:
    """A cache with two shelves: whole files up to `budget` bytes together, least recently used first out; and what is
    left of those that went, a copy of their tables alone, a few per cent of their size.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._whole: OrderedDict[Hashable, Binary] = OrderedDict()
        self._tables: dict[Hashable, Binary] = {}

    def allow(self, size: int) -> None:
        """A file of `size` bytes is among the ones to come: keep room for it."""
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
        total = sum(each.size for each in self._whole.values())
        while self._whole and total + size > self._budget:
            key, binary = self._whole.popitem(last=False)
            total -= binary.size
            if key not in self._tables:
                self._tables[key] = _tables_of(binary)


def _tables_of(binary: Binary) -> Binary:
    """A copy with holes. The original may still be in someone's hands, so it is not cut down itself."""
    copy = anonymous(binary.size, binary.path, filled=False)
    for at, size in binary.lookup_ranges():
        copy[at : at + size] = binary.buffer[at : at + size]
    return read_binary(copy, binary.path)
