"""Loaded objects: `LinkMap` (struct link_map) and `Namespace`, the list of them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from msgspec import Struct

from abiscan.elf import ElfFile
from abiscan.loader.definitions import Definitions
from abiscan.loader.opened_files import FileId


class LinkMap(Struct, eq=False):
    """An object in memory.

    Attributes:
        elf: its file; None for the kernel's vDSO.
        name: l_name, the path at which it was found; empty for the executable. Messages use this name.
        loader: the object whose DT_NEEDED loaded it; None for an object that was opened directly.
        file_id: None if the loader does not know it (the executable).
        origin: value of $ORIGIN.
        exports: `definitions`, once they are read.
        index: position in the namespace's list.
        needed: its direct dependencies, once they are mapped.
    """

    elf: ElfFile | None
    name: str
    loader: LinkMap | None = None
    file_id: FileId | None = None
    origin: str | None = None
    is_executable: bool = False
    soname: str | None = None
    exports: Definitions | None = None
    index: int = -1
    needed: tuple[LinkMap, ...] | None = None
    rpath_dirs: tuple[str, ...] | None = None
    runpath_dirs: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if self.elf is not None:
            self.soname = self.elf.soname

    @property
    def definitions(self) -> Definitions | None:
        """Its exports, read at the first use; None for the vDSO."""
        if self.exports is None and self.elf is not None:
            self.exports = Definitions(self.elf)
        return self.exports

    @property
    def label(self) -> str:
        """Its name in reports: the soname, or the file name."""
        if self.soname:
            return self.soname
        path = self.name or (self.elf.path if self.elf is not None else "")
        return os.path.basename(path)

    def __repr__(self) -> str:
        return f"<LinkMap {self.name!r}>"


class Namespace:
    """The objects of a process (the base namespace), in the order in which they were mapped, and the global scope.

    Objects are found by each name that was requested, by soname, and by file identity. If several match, the one that
    was mapped first wins.
    """

    def __init__(self) -> None:
        self.maps: list[LinkMap] = []
        self.scope: list[LinkMap] = []
        self._by_name: dict[str, LinkMap] = {}
        self._by_soname: dict[str, LinkMap] = {}
        self._by_file: dict[FileId, LinkMap] = {}

    def fork(self, files: Mapping[str, ElfFile] | None = None) -> Namespace:
        """A copy that can grow independently; the objects are shared.

        Args:
            files: path to contents of files that replace those on disk: objects mapped from another file of that path
                are not found by a request.
        """
        copy = Namespace()
        copy.maps = self.maps[:]
        copy.scope = self.scope[:]
        copy._by_name = self._by_name.copy()
        copy._by_soname = self._by_soname.copy()
        copy._by_file = self._by_file.copy()
        for path, elf in (files or {}).items():
            known = self._by_name.get(path)
            if known is not None and known.elf is not None and not _is_same(known.elf, elf):
                copy._by_name = {name: item for name, item in copy._by_name.items() if item is not known}
                copy._by_soname = {name: item for name, item in copy._by_soname.items() if item is not known}
                copy._by_file = {each: item for each, item in copy._by_file.items() if item is not known}
        return copy

    def __iter__(self) -> Iterator[LinkMap]:
        return iter(self.maps)

    def __len__(self) -> int:
        return len(self.maps)

    def add(self, item: LinkMap, *names: str) -> LinkMap:
        """Append an object, with the names by which it was requested."""
        item.index = len(self.maps)
        self.maps.append(item)
        # The executable's name is empty, and an empty DT_NEEDED string finds it.
        self.add_name(item, item.name)
        for name in names:
            self.add_name(item, name)
        if item.soname:
            self._by_soname.setdefault(item.soname, item)
        if item.file_id is not None:
            self._by_file.setdefault(item.file_id, item)
        return item

    def add_name(self, item: LinkMap, name: str) -> None:
        """Add a name under which the object is found."""
        known = self._by_name.get(name)
        if known is None or item.index < known.index:
            self._by_name[name] = item

    def find(self, name: str) -> LinkMap | None:
        """The object that a request for `name` gets without a search. If `name` is its soname, the name is recorded."""
        named, sonamed = self._by_name.get(name), self._by_soname.get(name)
        if named is not None and (sonamed is None or named.index <= sonamed.index):
            return named
        if sonamed is not None:
            self.add_name(sonamed, name)
        return sonamed

    def find_exact(self, name: str) -> LinkMap | None:
        """The object that was requested by exactly this name; a soname counts after a request has matched it."""
        return self._by_name.get(name)

    def find_file(self, file_id: FileId) -> LinkMap | None:
        """The object mapped from this file."""
        return self._by_file.get(file_id)


# Number of bytes that are compared at a time.
_CHUNK = 1 << 20


def _is_same(one: ElfFile, other: ElfFile) -> bool:
    """Whether two files have the same contents."""
    if one is other or (one.mapped is not None and one.mapped == other.mapped):
        return True
    first, second = one.image.buffer, other.image.buffer
    return one.size == other.size and all(
        first[at : at + _CHUNK] == second[at : at + _CHUNK] for at in range(0, one.size, _CHUNK)
    )
