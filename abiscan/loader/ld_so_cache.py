"""/etc/ld.so.cache (sysdeps/generic/dl-cache.h and elf/dl-cache.c of glibc), read as the loader reads it.

ldconfig writes the file for this machine's loader, so numbers are in the machine's byte order. Offsets are checked
nevertheless; a damaged one ends the search.
"""

from __future__ import annotations

from collections.abc import Sequence
from sys import byteorder
from typing import Literal

from abiscan.filesystem import HERE, FileSystem

_OLD_MAGIC = b"ld.so-1.7.0"
_NEW_MAGIC = b"glibc-ld.so.cache1.1"
_OLD_HEADER, _OLD_ENTRY = 16, 12
_NEW_HEADER, _NEW_ENTRY = 48, 24
_ENDIAN_MASK = 3
_EXTENSION_MAGIC = 0xEAA42174
_EXTENSION_HWCAPS = 1
_HWCAP_EXTENSION = 1 << 62
_ISA_LEVELS = (1 << 10) - 1
# A system with every package installed has about ten thousand entries.
_MAX_CACHE = 64 << 20
_MAX_STRING = 4096
# Names whose paths are kept: far more than the libraries that one program needs.
_MAX_KEPT = 4096

_ORDER: Literal["little", "big"] = byteorder


class LibraryCache:
    """The mapping of sonames to paths.

    Args:
        data: the file's bytes; anything that is not a cache counts as an empty one.
        flags: the flags of entries for the loader's architecture (`RuntimeLinker.cache_id`).
        levels: active glibc-hwcaps subdirectories, best first.
        legacy: whether the loader accepts entries of legacy capabilities (before glibc 2.37).
    """

    def __init__(self, data: bytes, flags: int, levels: Sequence[str], *, legacy: bool) -> None:
        self._data = data
        self._flags = flags
        self._legacy = legacy
        self._base, self._count, self._entries, self._entry_size, self._strings = self._layout()
        self._priorities = self._read_priorities(levels) if self._entry_size == _NEW_ENTRY else []
        # The files of a run need the same libraries.
        self._paths: dict[str, str | None] = {}

    @classmethod
    def read(
        cls, path: str, flags: int, levels: Sequence[str], *, legacy: bool, files: FileSystem = HERE
    ) -> LibraryCache:
        """Read a file; a missing one is an empty cache, as for the loader."""
        return cls(files.read(path, _MAX_CACHE) or b"", flags, levels, legacy=legacy)

    def _u32(self, at: int) -> int:
        return int.from_bytes(self._data[at : at + 4], _ORDER)

    def _layout(self) -> tuple[int, int, int, int, int]:
        """(offset of the new header, number of entries, offset of the first, size of each, offset of the strings)"""
        data = self._data
        empty = (0, 0, 0, _OLD_ENTRY, 0)
        if data.startswith(_NEW_MAGIC) and len(data) > _NEW_HEADER:
            return self._new_layout(0) or empty
        if data.startswith(_OLD_MAGIC) and len(data) > _OLD_HEADER:
            count = self._u32(12)
            end = _OLD_HEADER + count * _OLD_ENTRY
            if end > len(data):
                return empty
            # Both formats in one file: the new one follows, aligned to 8.
            start = end + 7 & ~7
            if data[start : start + len(_NEW_MAGIC)] == _NEW_MAGIC:
                return self._new_layout(start) or empty
            return 0, count, _OLD_HEADER, _OLD_ENTRY, end
        return empty

    def _new_layout(self, start: int) -> tuple[int, int, int, int, int] | None:
        count = self._u32(start + 20)
        if start + _NEW_HEADER + count * _NEW_ENTRY > len(self._data):
            return None
        endian = self._data[start + 28] & _ENDIAN_MASK
        if endian not in (0, 2 if _ORDER == "little" else 3):
            return None
        return start, count, start + _NEW_HEADER, _NEW_ENTRY, start

    def _string(self, offset: int) -> bytes | None:
        at = self._strings + offset
        if not 0 <= at < len(self._data):
            return None
        end = self._data.find(b"\0", at, at + _MAX_STRING)
        return None if end < 0 else self._data[at:end]

    def _read_priorities(self, levels: Sequence[str]) -> list[int]:
        """Rank of each hwcaps name of the cache, 1 the best; 0 for an inactive one."""
        at = self._u32(self._base + 32)
        if not at or at + 8 > len(self._data) or self._u32(at) != _EXTENSION_MAGIC:
            return []
        for index in range(min(self._u32(at + 4), 64)):
            section = at + 8 + 16 * index
            if section + 16 > len(self._data):
                break
            if self._u32(section) != _EXTENSION_HWCAPS:
                continue
            offset, size = self._u32(section + 8), self._u32(section + 12)
            if offset + size > len(self._data):
                break
            names = [self._string_at(self._u32(offset + 4 * n)) for n in range(size // 4)]
            ranks = {level: rank for rank, level in enumerate(levels, 1)}
            return [ranks.get(name, 0) for name in names]
        return []

    def _string_at(self, at: int) -> str:
        end = self._data.find(b"\0", at, at + _MAX_STRING)
        return "" if end < 0 else self._data[at:end].decode("ascii", "replace")

    def _key(self, index: int) -> bytes | None:
        return self._string(self._u32(self._entries + index * self._entry_size + 4))

    def lookup(self, name: str) -> str | None:
        """The path that the cache has for a name; the file may not exist."""
        if name not in self._paths:
            if len(self._paths) >= _MAX_KEPT:
                self._paths.clear()
            self._paths[name] = self._search(name)
        return self._paths[name]

    def _search(self, name: str) -> str | None:
        raw = name.encode("utf-8", "surrogateescape")
        left, right = 0, self._count - 1
        while left <= right:
            middle = (left + right) // 2
            key = self._key(middle)
            if key is None:
                return None
            order = compare_names(raw, key)
            if order == 0:
                return self._best(raw, middle, right)
            if order < 0:
                left = middle + 1
            else:
                right = middle - 1
        return None

    def _best(self, name: bytes, index: int, right: int) -> str | None:
        """The best of the adjacent entries of one name."""
        while index > 0:
            key = self._key(index - 1)
            if key is None or compare_names(name, key) != 0:
                break
            index -= 1
        best: bytes | None = None
        best_rank = 0
        while index <= right:
            key = self._key(index)
            if key is None or compare_names(name, key) != 0:
                break
            at = self._entries + index * self._entry_size
            index += 1
            if self._u32(at) != self._flags:
                continue
            path = self._string(self._u32(at + 8))
            if path is None:
                continue
            if self._entry_size == _NEW_ENTRY:
                hwcap = int.from_bytes(self._data[at + 16 : at + 24], _ORDER)
                if hwcap >> 32 & ~_ISA_LEVELS == _HWCAP_EXTENSION >> 32:
                    # Entries of glibc-hwcaps directories come first; the best active one wins.
                    number = hwcap & 0xFFFFFFFF
                    rank = self._priorities[number] if number < len(self._priorities) else 0
                    if rank and (best is None or rank < best_rank):
                        best, best_rank = path, rank
                    continue
                if best is not None:
                    break
                if hwcap and not (self._legacy and hwcap == 1 << 63):
                    continue
            best = path
            break
        return None if best is None else best.decode("utf-8", "surrogateescape")


def compare_names(first: bytes, second: bytes) -> int:
    """Order of the cache: by character, with runs of digits compared by value (_dl_cache_libcmp)."""
    i = j = 0
    while i < len(first):
        a = first[i]
        b = second[j] if j < len(second) else 0
        a_digit, b_digit = 48 <= a <= 57, 48 <= b <= 57
        if a_digit and b_digit:
            x = y = 0
            while i < len(first) and 48 <= first[i] <= 57:
                x = x * 10 + first[i] - 48
                i += 1
            while j < len(second) and 48 <= second[j] <= 57:
                y = y * 10 + second[j] - 48
                j += 1
            if x != y:
                return x - y
        elif a_digit:
            return 1
        elif b_digit:
            return -1
        elif a != b:
            return a - b
        else:
            i += 1
            j += 1
    return -(second[j] if j < len(second) else 0)
