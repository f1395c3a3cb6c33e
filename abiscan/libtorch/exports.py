"""What the libraries of an installed torch export, asked name by name."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from abiscan.elf import ElfFile, gnu_hash, open_elf
from abiscan.errors import UnreadableFile


class InstalledExports:
    """Exports of torch's own libraries on disk, through their hash tables; nothing is enumerated.

    Args:
        libraries: paths in the order in which a name is looked for (`InstalledTorch.libraries`).
        opener: how to open one; a run that has them open already passes its own.
    """

    def __init__(self, libraries: Sequence[str], opener: Callable[[str], ElfFile] = open_elf) -> None:
        self._paths = tuple(libraries)
        self._open = opener
        self._files: list[tuple[str, ElfFile]] | None = None
        self._known: dict[str, str | None] = {}

    def _libraries(self) -> list[tuple[str, ElfFile]]:
        if self._files is None:
            self._files = []
            for path in self._paths:
                try:
                    self._files.append((os.path.basename(path), self._open(path)))
                except (UnreadableFile, FileNotFoundError):
                    # A damaged library exports nothing that a loader could use either; the loader's model reports it.
                    continue
        return self._files

    def library_of(self, name: str) -> str | None:
        """The file name (its soname) of the library that exports the name; None where none does."""
        if name not in self._known:
            raw = name.encode("utf-8", "surrogateescape")
            hashed = gnu_hash(raw)
            self._known[name] = next(
                (soname for soname, elf in self._libraries() if elf.exports_name(raw, hashed)), None
            )
        return self._known[name]

    def with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Exported names that start with `prefix`, sorted, at most `limit`."""
        found: set[str] = set()
        for _soname, elf in self._libraries():
            found.update(elf.names_with_prefix(prefix, limit - len(found)))
            if len(found) >= limit:
                break
        return tuple(sorted(found))
