"""List the operators that the file registers with torch."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.provenance.read_operators import find_operators


def list_operators(record: FileRecord) -> None:
    """Read the schemas of `TORCH_LIBRARY` and similar macros."""
    record.operators = find_operators(record.binary, [each.name for each in record.imports])
