"""An open PE file: the facade of this room."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from abiscan.file_buffer import complete
from abiscan.model.pe_facts import PeExport, PeImport
from abiscan.pe.export_table import ExportTable
from abiscan.pe.import_tables import ImportedLibrary, imported_libraries, read_imports
from abiscan.pe.pe_image import PeImage

if TYPE_CHECKING:
    import mmap

    from abiscan.file_buffer import Sparse


class PeFile(PeImage):
    """A PE file with its tables.

    Raises:
        UnreadableFile: see `PeImage`. Methods raise it for their tables.
    """

    @property
    def name(self) -> str | None:
        """The file name in the export table."""
        return self._export_table.name

    @cached_property
    def _libraries(self) -> tuple[ImportedLibrary, ...]:
        return imported_libraries(self)

    @cached_property
    def libraries(self) -> tuple[str, ...]:
        """The DLLs of the import table, in order, each once."""
        return tuple(dict.fromkeys(each.name for each in self._libraries if not each.delayed))

    @cached_property
    def imports(self) -> tuple[PeImport, ...]:
        """Of the import table and the delay-load import table, in order."""
        return read_imports(self, self._libraries)

    @cached_property
    def _export_table(self) -> ExportTable:
        return ExportTable(self)

    @property
    def bits(self) -> int:
        """64 for PE32+, 32 for PE32."""
        return 64 if self.is64 else 32

    @property
    def debug_id(self) -> str | None:
        """GUID and age of the CodeView record, as symbol servers spell it, in lower-case hexadecimal digits; None
        without a readable one."""
        from abiscan.pe.debug_directory import read_debug_id

        return read_debug_id(self)

    def exports_name(self, name: str) -> bool:
        """Whether it exports a name, forwarders included."""
        return name in self._export_table.names

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """The names that it exports, forwarders included."""
        return frozenset(filter(self._export_table.names.__contains__, names))

    def exports_ordinal(self, ordinal: int) -> bool:
        """Whether it exports an ordinal."""
        return self._export_table.has_ordinal(ordinal)

    def exports(self) -> Iterator[PeExport]:
        """Every export: those with names in the order of the name table, then those without."""
        return self._export_table.rows()

    @property
    def exported_names(self) -> Collection[str]:
        """The names of all exports, in the order of the name table."""
        return self._export_table.names.keys()

    def read_only_strings(self, part: bytes, gap: int | None) -> Iterator[bytes]:
        """The strings of its read-only data that contain these bytes, within the search limit."""
        return self.strings_with(part, self.read_only_places(), gap)


def read_pe(data: bytes | mmap.mmap | Sparse, display: str) -> PeFile:
    """A PE file in memory or mapped.

    Args:
        display: its name in messages.

    Raises:
        UnreadableFile: see `PeFile`.
    """
    return PeFile(complete(data), display)
