"""Cache of the unpacked shared objects of one archive: on disk within a limit, otherwise a few complete ones in memory
and the tables of all others."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Hashable

from abiscan.binary import Binary, read_binary
from abiscan.errors import UnreadableFile
from abiscan.inputs.scratch import Scratch, Unpack
from abiscan.inputs.unpacked import in_part
from abiscan.model.limits import MAX_IN_MEMORY, MAX_TABLES_IN_MEMORY, MIN_ON_DISK


class KeptFiles:
    """A cache with three levels: files on disk, each unpacked once; complete files in memory up to `budget` bytes
    together, with the least recently used one evicted first; and the tables of evicted ones, a few per cent of their
    size. Of the files that are too large for memory and for `scratch`, one is kept complete whatever the budget.

    Args:
        scratch: shared with other processes that read the same archive (default: a new one).
        hashes: as for `Scratch`, for a new one.
    """

    def __init__(self, budget: int, scratch: Scratch | None = None, *, hashes: bool = False) -> None:
        self._budget = budget
        self._scratch = scratch or Scratch(hashes=hashes)
        # The current file, and the siblings that were opened for it or for earlier ones.
        self._current: tuple[Hashable, Binary] | None = None
        self._siblings: dict[Hashable, Binary] = {}
        self._whole: OrderedDict[Hashable, Binary] = OrderedDict()
        self._tables: dict[Hashable, Binary] = {}
        self._tables_size = 0

    def allow(self, key: Hashable, size: int) -> None:
        """Reserve room for a file of `size` bytes that may follow."""
        if size >= MIN_ON_DISK:
            self._scratch.allot(key, size)
        if size <= MAX_IN_MEMORY:
            self._budget = max(self._budget, size)

    def whole(self, key: Hashable, size: int, display: str, unpack: Unpack, again: Unpack | None = None) -> Binary:
        """The complete file, unpacked if it is not cached.

        Args:
            again: unpacks it once more, if `unpack` can run only once.
        """
        if self._current is not None and self._current[0] == key:
            return self._current[1]
        self._current = None
        on_disk = self._on_disk(key, size, display, unpack, again or unpack)
        if on_disk is None:
            return self._in_memory(key, size, display, unpack)
        self._scratch.rest_all_but(key)
        self._current = key, on_disk
        return on_disk

    def tables(self, key: Hashable, size: int, display: str, unpack: Unpack) -> Binary:
        """The file or its tables, whichever is cached."""
        found = self._tables.get(key)
        if found is None and (found := self._on_disk(key, size, display, unpack, unpack)) is not None:
            self._siblings[key] = found
        return found if found is not None else self._in_memory(key, size, display, unpack)

    def _on_disk(self, key: Hashable, size: int, display: str, unpack: Unpack, again: Unpack) -> Binary | None:
        found = self._siblings.get(key)
        if found is None and self._current is not None and self._current[0] == key:
            found = self._current[1]
        if found is None:
            contents = self._scratch.get(key, size, display, unpack, again)
            found = None if contents is None else read_binary(contents, display)
        return found

    def _in_memory(self, key: Hashable, size: int, display: str, unpack: Unpack) -> Binary:
        found = self._whole.get(key)
        if found is not None:
            self._whole.move_to_end(key)
            return found
        self._make_room(size)
        binary = read_binary(unpack(), display)
        self._whole[key] = binary
        return binary

    def clear(self) -> None:
        """Release all files: their functions that unpack refer to the archive, and that to this cache, so they would
        stay in memory until the garbage collector runs. What is opened later is unpacked again."""
        self._current, self._tables_size = None, 0
        for cached in (self._siblings, self._whole, self._tables):
            cached.clear()
        self._scratch.clear()

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
                with contextlib.suppress(UnreadableFile):  # no space: it is unpacked again on the next use
                    self._tables[key] = self._copy_tables(binary)

    def _copy_tables(self, binary: Binary) -> Binary:
        """A copy with holes. The original may still be in use, so it is not truncated."""
        ranges = binary.lookup_ranges()
        size = sum(length for _, length in ranges)
        in_memory = self._tables_size + size <= MAX_TABLES_IN_MEMORY
        self._tables_size += size if in_memory else 0
        return read_binary(in_part(binary.buffer, ranges, binary.path, in_memory=in_memory), binary.path)
