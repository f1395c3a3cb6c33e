"""Find the installed path of the file and the libraries of its package."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.siblings import load_path, namesakes, needed_siblings
from abiscan.binary.universal_parts import part_for


def find_siblings(record: FileRecord) -> None:
    """Open the shared objects of the package that the file needs, directly or through others."""
    options = record.context.options
    record.load_path = load_path(record.artifact, options)
    siblings = needed_siblings(record.artifact, record.binary, options)
    record.siblings = {path: part_for(each, record.binary.machine) for path, each in siblings.items()}
    record.namesakes = namesakes(record.artifact, siblings)
