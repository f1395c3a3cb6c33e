"""Recognises PE files by their first bytes."""

from __future__ import annotations

from typing import Final

from abiscan.model.facts import BinaryKind

PE_MAGIC: Final = b"MZ"
# Microsoft's linker puts the PE header at 0x80 to 0x150, GNU's at 0x80.
PEEK_SIZE: Final = 1024

_IMAGE_FILE_EXECUTABLE_IMAGE, _IMAGE_FILE_DLL = 0x0002, 0x2000


def peek_pe(head: bytes) -> BinaryKind | None:
    """The kind of the PE file that starts with `head` (PEEK_SIZE bytes, or a whole shorter file); None if it is not
    one, such as a DOS program with the same first bytes."""
    if not head.startswith(PE_MAGIC):
        return None
    at = int.from_bytes(head[0x3C:0x40], "little")
    if head[at : at + 4] != b"PE\0\0" or at + 24 > len(head):
        return BinaryKind.UNKNOWN
    flags = int.from_bytes(head[at + 22 : at + 24], "little")
    if flags & _IMAGE_FILE_DLL:
        return BinaryKind.SHARED_OBJECT
    return BinaryKind.EXECUTABLE if flags & _IMAGE_FILE_EXECUTABLE_IMAGE else BinaryKind.UNKNOWN
