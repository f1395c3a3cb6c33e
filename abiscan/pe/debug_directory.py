"""The CodeView record of the debug directory."""

from __future__ import annotations

import struct
from uuid import UUID

from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_SEGMENTS
from abiscan.pe.pe_image import DEBUG, PeImage

_ENTRY = struct.Struct("<IIHHIIII")
_CODEVIEW = 2
# "RSDS", GUID, age.
_RSDS = struct.Struct("<4s16sI")


def read_debug_id(image: PeImage) -> str | None:
    """GUID and age of the first CodeView record; None if there is none, or it lies outside of the file, since no import
    or export depends on it."""
    address, size = image.directories[DEBUG]
    count = min(size // _ENTRY.size, MAX_SEGMENTS)
    try:
        table = image.at_address(address, count * _ENTRY.size, "the debug directory") if address else b""
        for _, _, _, _, kind, length, _, offset in _ENTRY.iter_unpack(table):
            if kind == _CODEVIEW and length >= _RSDS.size:
                magic, guid, age = _RSDS.unpack(image.slice(offset, _RSDS.size, "the CodeView record"))
                if magic == b"RSDS":
                    return f"{UUID(bytes_le=guid).hex}{age:x}"
    except UnreadableFile:
        return None
    return None
