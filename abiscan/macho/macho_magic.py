"""Recognises Mach-O files by their first bytes."""

from __future__ import annotations

from typing import Final

from abiscan.model.facts import BinaryKind

# MH_MAGIC_64, MH_MAGIC (little-endian), FAT_MAGIC, FAT_MAGIC_64. Big-endian thin files are for PowerPC.
THIN_MAGICS: Final = (b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe")
FAT_MAGIC, FAT_MAGIC_64 = b"\xca\xfe\xba\xbe", b"\xca\xfe\xba\xbf"
MACHO_MAGICS: Final = (*THIN_MAGICS, FAT_MAGIC, FAT_MAGIC_64)
PEEK_SIZE: Final = 64
# A Java class has the magic of a universal file, and its version (45 or more) in place of the number of slices.
MAX_SLICES: Final = 40

_KINDS: Final = {
    1: BinaryKind.OBJECT,
    2: BinaryKind.EXECUTABLE,
    4: BinaryKind.CORE,
    6: BinaryKind.SHARED_OBJECT,
    8: BinaryKind.SHARED_OBJECT,
    9: BinaryKind.SHARED_OBJECT,
}


def peek_macho(head: bytes) -> BinaryKind | None:
    """The kind of the Mach-O file that starts with `head` (PEEK_SIZE bytes, or a whole shorter file); None if it is not
    one. A universal file counts as a shared object, as its slices are not in `head`."""
    if head.startswith(THIN_MAGICS):
        return _KINDS.get(int.from_bytes(head[12:16], "little"), BinaryKind.UNKNOWN)
    if head.startswith((FAT_MAGIC, FAT_MAGIC_64)) and 0 < int.from_bytes(head[4:8], "big") <= MAX_SLICES:
        return BinaryKind.SHARED_OBJECT
    return None
