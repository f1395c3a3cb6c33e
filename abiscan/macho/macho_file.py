"""An open Mach-O file, or one slice of a universal file: the facade of this room."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from abiscan.model.macho_facts import LinkedLibrary, MachoExport, MachoFacts, MachoImport, MachoSlice

if TYPE_CHECKING:
    import mmap

    from abiscan.file_buffer import Sparse


class MachoFile:
    """One Mach-O file, its load commands read. Names have the underscore of the symbol table.

    Args:
        machine: the slice to read of a universal file (`arm64`); default: `arm64`, else the first.

    Attributes:
        path: as the user would write it; used in messages.
        slices: all of the file.

    Raises:
        UnreadableFile: it is no Mach-O file, has no such slice, or its load commands lie outside of it. So do all
            methods whose table does.
    """

    slices: tuple[MachoSlice, ...]

    def __init__(
        self, buffer: bytes | mmap.mmap, path: str, sparse: Sparse | None = None, *, machine: str | None = None
    ) -> None:
        self.path = path

    @property
    def buffer(self) -> bytes | mmap.mmap:
        """The whole file, all slices."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """Of the slice, in bytes."""
        raise NotImplementedError

    @property
    def machine(self) -> str:
        """Of the slice: `x86_64`, `arm64`, `arm64e`, ..."""
        raise NotImplementedError

    @cached_property
    def install_name(self) -> str | None:
        """LC_ID_DYLIB."""
        raise NotImplementedError

    @cached_property
    def libraries(self) -> tuple[LinkedLibrary, ...]:
        """In the order of the load commands."""
        raise NotImplementedError

    @cached_property
    def imports(self) -> tuple[MachoImport, ...]:
        """What dyld looks up when it loads the file, each name once a library."""
        raise NotImplementedError

    def facts(self) -> MachoFacts:
        """Everything that is read of every file, as a value."""
        raise NotImplementedError

    def exports_name(self, name: str) -> bool:
        """Whether it exports a name, re-exported symbols included; those of re-exported libraries are not."""
        raise NotImplementedError

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """Those of the names for which `exports_name` is true."""
        raise NotImplementedError

    def export(self, name: str) -> MachoExport | None:
        """The export of this name."""
        raise NotImplementedError

    def exports(self) -> Iterator[MachoExport]:
        """Every export, in the order of the export trie."""
        raise NotImplementedError

    def names_with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Exported names that start with `prefix`, sorted, at most `limit`."""
        raise NotImplementedError

    def strings_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """The strings of its read-only data that contain these bytes, as far as it is searched."""
        raise NotImplementedError


def read_macho(data: bytes | mmap.mmap | Sparse, display: str, machine: str | None = None) -> MachoFile:
    """A Mach-O file whose contents are in memory or mapped.

    Args:
        display: how to call it in messages.
        machine: the slice to read of a universal file; see `MachoFile`.

    Raises:
        UnreadableFile: as `MachoFile`.
    """
    raise NotImplementedError
