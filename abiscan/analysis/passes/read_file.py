"""Read the file: imports, exports, needed libraries."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.binary.universal_parts import part_for


def read_file(record: FileRecord) -> None:
    """Open the artifact and read its tables.

    Raises:
        UnreadableFile: the file is not a valid shared object.
    """
    binary = record.artifact.open()
    record.binary = binary if record.part is None else part_for(binary, record.part)
    record.facts = record.binary.facts()
    record.device_images = record.binary.device_images()
