"""List the operators that the file registers with torch."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.provenance.read_operators import operators_of


def list_operators(record: FileRecord) -> None:
    """Read the schemas of `TORCH_LIBRARY` and its kin."""
    record.operators = operators_of(record.binary, [each.name for each in record.imports])
