"""The debug directory: the CodeView record, and whether the build is reproducible."""

from __future__ import annotations

import struct
from typing import Final
from uuid import UUID

from msgspec import Struct

from abiscan.model.limits import MAX_SEGMENTS
from abiscan.pe.pe_image import DEBUG, PeImage, decoded

_ENTRY = struct.Struct("<IIHHIIII")
_CODEVIEW, _REPRODUCIBLE = 2, 16
# "RSDS", GUID, age; the path follows.
_RSDS = struct.Struct("<4s16sI")
# A Windows path has up to 32,767 characters.
_MAX_RECORD: Final = 1 << 17


class DebugRecords(Struct, frozen=True):
    """The contents of the debug directory; see `PeFacts`."""

    path: str | None = None
    id: str | None = None
    is_reproducible: bool = False


def debug_records(image: PeImage) -> DebugRecords:
    """The records of the debug directory; the first CodeView record counts.

    Raises:
        UnreadableFile: the directory or a record lies outside of the file.
    """
    address, size = image.directories[DEBUG]
    if not address:
        return DebugRecords()
    count = min(size // _ENTRY.size, MAX_SEGMENTS)
    table = image.at_address(address, count * _ENTRY.size, "the debug directory")
    path = identity = None
    reproducible = False
    for _, _, _, _, kind, length, _, offset in _ENTRY.iter_unpack(table):
        reproducible = reproducible or kind == _REPRODUCIBLE
        if kind != _CODEVIEW or path is not None or length < _RSDS.size:
            continue
        record = image.slice(offset, min(length, _MAX_RECORD), "the CodeView record")
        magic, guid, age = _RSDS.unpack_from(record)
        if magic == b"RSDS":
            path = decoded(record[_RSDS.size :].partition(b"\0")[0])
            identity = f"{UUID(bytes_le=guid).hex}{age:x}"
    return DebugRecords(path, identity, reproducible)
