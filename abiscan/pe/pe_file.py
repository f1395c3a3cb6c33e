"""An open PE file: the facade of this room."""

from __future__ import annotations

import struct
from functools import cached_property
from typing import TYPE_CHECKING

from abiscan.errors import UnreadableFile
from abiscan.file_buffer import complete
from abiscan.model.limits import MAX_SEGMENTS
from abiscan.model.pe_facts import PeImport
from abiscan.pe.export_table import ExportTable
from abiscan.pe.import_tables import ImportedLibrary, imported_libraries, read_imports
from abiscan.pe.pe_image import DEBUG, PeImage

if TYPE_CHECKING:
    import mmap

    from abiscan.file_buffer import Sparse

_ENTRY = struct.Struct("<IIHHIIII")
_CODEVIEW = 2
# "RSDS", GUID, age.
_RSDS = struct.Struct("<4s16sI")


class PeFile(PeImage):
    """A PE file with its tables.

    Raises:
        UnreadableFile: see `PeImage`. Methods raise it for their tables.
    """

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
    def export_table(self) -> ExportTable:
        """Empty if the file has none."""
        return ExportTable(self)

    @property
    def bits(self) -> int:
        """64 for PE32+, 32 for PE32."""
        return 64 if self.is64 else 32

    @property
    def debug_id(self) -> str | None:
        """GUID and age of the CodeView record, as symbol servers spell it, in lower-case hexadecimal digits; None
        without one, or if it lies outside of the file, since no import or export depends on it."""
        from uuid import UUID

        address, size = self.directories[DEBUG]
        count = min(size // _ENTRY.size, MAX_SEGMENTS)
        try:
            table = self.at_address(address, count * _ENTRY.size, "the debug directory") if address else b""
            for _, _, _, _, kind, length, _, offset in _ENTRY.iter_unpack(table):
                if kind == _CODEVIEW and length >= _RSDS.size:
                    magic, guid, age = _RSDS.unpack(self.slice(offset, _RSDS.size, "the CodeView record"))
                    if magic == b"RSDS":
                        return f"{UUID(bytes_le=guid).hex}{age:x}"
        except UnreadableFile:
            return None
        return None


def read_pe(data: bytes | mmap.mmap | Sparse, display: str) -> PeFile:
    """A PE file in memory or mapped.

    Args:
        display: its name in messages.

    Raises:
        UnreadableFile: see `PeFile`.
    """
    return PeFile(complete(data), display)
