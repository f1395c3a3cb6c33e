"""Read the file: imports, exports, needed libraries."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord


def read_file(record: FileRecord) -> None:
    """Open the artifact and read its tables.

    Raises:
        UnreadableFile: the file is not a valid shared object.
    """
    record.binary = record.artifact.open()
    record.facts = record.binary.facts()
    record.device_images = record.binary.device_images()
