"""An open PE file: the facade of this room."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from abiscan.model.pe_facts import PeExport, PeFacts, PeImport

if TYPE_CHECKING:
    import mmap

    from abiscan.file_buffer import Sparse


class PeFile:
    """A PE file, its headers read.

    Attributes:
        path: as the user would write it; used in messages.

    Raises:
        UnreadableFile: it is no PE file, or its headers lie outside of it. So do all methods whose table does.
    """

    def __init__(self, buffer: bytes | mmap.mmap, path: str, sparse: Sparse | None = None) -> None:
        self.path = path

    @property
    def buffer(self) -> bytes | mmap.mmap:
        """The whole file."""
        raise NotImplementedError

    @property
    def size(self) -> int:
        """In bytes."""
        raise NotImplementedError

    @property
    def machine(self) -> str:
        """`x86_64`, `i386`, `arm64`, ..."""
        raise NotImplementedError

    @cached_property
    def name(self) -> str | None:
        """What the export table calls the file."""
        raise NotImplementedError

    @cached_property
    def libraries(self) -> tuple[str, ...]:
        """The DLLs of the import table, in order, each once."""
        raise NotImplementedError

    @cached_property
    def imports(self) -> tuple[PeImport, ...]:
        """Of the import table and the delay-load import table, in order."""
        raise NotImplementedError

    def facts(self) -> PeFacts:
        """Everything that is read of every file, as a value."""
        raise NotImplementedError

    def exports_name(self, name: str) -> bool:
        """Whether it exports a name, forwarders included."""
        raise NotImplementedError

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """Those of the names that it exports, forwarders included."""
        raise NotImplementedError

    def export(self, name: str) -> PeExport | None:
        """The export of this name."""
        raise NotImplementedError

    def export_by_ordinal(self, ordinal: int) -> PeExport | None:
        """The export of this ordinal; its name is that of one of its entries, if it has any."""
        raise NotImplementedError

    def exports(self) -> Iterator[PeExport]:
        """Every export: those with names in the order of the name table, then those without."""
        raise NotImplementedError

    def names_with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Exported names that start with `prefix`, sorted, at most `limit`."""
        raise NotImplementedError

    def strings_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """The strings of its read-only data that contain these bytes, as far as it is searched."""
        raise NotImplementedError


def read_pe(data: bytes | mmap.mmap | Sparse, display: str) -> PeFile:
    """A PE file whose contents are in memory or mapped.

    Args:
        display: how to call it in messages.

    Raises:
        UnreadableFile: as `PeFile`.
    """
    raise NotImplementedError
