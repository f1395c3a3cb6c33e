"""Reads the load commands of a Mach-O file."""

from __future__ import annotations

import struct
from typing import Final

from msgspec import Struct

from abiscan.file_buffer import decoded
from abiscan.macho.macho_image import LoadCommand, MachoImage
from abiscan.model.limits import MAX_NEEDED
from abiscan.model.macho_facts import LibraryLink, LinkedLibrary

_REQUIRED: Final = 0x80000000  # LC_REQ_DYLD
_LC_ID_DYLIB, _LC_UUID = 0x0D, 0x1B
_LINKS: Final = {
    0x0C: LibraryLink.NORMAL,
    0x18 | _REQUIRED: LibraryLink.WEAK,
    0x1F | _REQUIRED: LibraryLink.REEXPORT,
    0x20: LibraryLink.LAZY,
    0x23 | _REQUIRED: LibraryLink.UPWARD,
}
_LC_DYLD_INFO, _LC_DYLD_EXPORTS_TRIE, _LC_DYLD_CHAINED_FIXUPS = 0x22, 0x33 | _REQUIRED, 0x34 | _REQUIRED
# A dylib_use_command has this instead of a time stamp, and flags after its fields.
_USE_MARKER: Final = 0x1A741800
_USE_FLAGS: Final = ((1, LibraryLink.WEAK), (2, LibraryLink.REEXPORT), (4, LibraryLink.UPWARD))

_ONE, _TWO, _FOUR = struct.Struct("<I"), struct.Struct("<II"), struct.Struct("<IIII")
_DYLD_INFO = struct.Struct("<IIIIIIIIII")


class DyldTables(Struct, frozen=True):
    """(offset in the slice, size) of the tables that dyld reads; None for one that the file lacks."""

    chained: tuple[int, int] | None = None
    bind: tuple[int, int] | None = None
    lazy_bind: tuple[int, int] | None = None
    exports: tuple[int, int] | None = None


def linked_libraries(image: MachoImage) -> tuple[LinkedLibrary, ...]:
    """The libraries of the load commands, in order.

    Raises:
        UnreadableFile: a command is too short, or there are more than MAX_NEEDED.
    """
    found = tuple(_library(image, each, _LINKS[each.kind]) for each in image.commands if each.kind in _LINKS)
    if len(found) > MAX_NEEDED:
        raise image.corrupt(f"{len(found)} libraries")
    return found


def install_name(image: MachoImage) -> str | None:
    """LC_ID_DYLIB."""
    command = next((each for each in image.commands if each.kind == _LC_ID_DYLIB), None)
    return None if command is None else _library(image, command, LibraryLink.NORMAL).name


def uuid(image: MachoImage) -> str | None:
    """LC_UUID, in hexadecimal digits."""
    command = next((each for each in image.commands if each.kind == _LC_UUID), None)
    return None if command is None else command.body[:16].hex()


def dyld_tables(image: MachoImage) -> DyldTables:
    """The places of dyld's tables.

    Raises:
        UnreadableFile: a load command is too short.
    """
    found: dict[str, tuple[int, int]] = {}
    for command in image.commands:
        if command.kind & ~_REQUIRED == _LC_DYLD_INFO:
            words = image.fields(command, _DYLD_INFO)
            for name, at in (("bind", 2), ("lazy_bind", 6), ("exports", 8)):
                found.setdefault(name, (words[at], words[at + 1]))
        elif command.kind in (_LC_DYLD_EXPORTS_TRIE, _LC_DYLD_CHAINED_FIXUPS):
            name = "exports" if command.kind == _LC_DYLD_EXPORTS_TRIE else "chained"
            offset, size = image.fields(command, _TWO)
            found[name] = (offset, size)
    return DyldTables(**found)


def _library(image: MachoImage, command: LoadCommand, link: LibraryLink) -> LinkedLibrary:
    at, marker, _, _ = image.fields(command, _FOUR)
    if marker == _USE_MARKER and len(command.body) >= _FOUR.size + 4 and link in (LibraryLink.NORMAL, LibraryLink.WEAK):
        (flags,) = _ONE.unpack_from(command.body, _FOUR.size)
        link = next((kind for flag, kind in _USE_FLAGS if flags & flag), link)
    return LinkedLibrary(_text(image, command, at), link)


def _text(image: MachoImage, command: LoadCommand, at: int) -> str:
    # The offset counts from the start of the command, eight bytes before its body.
    if not _TWO.size <= at < len(command.body) + _TWO.size:
        raise image.corrupt(f"the text of a load command of type {command.kind:#x} lies outside of it")
    return decoded(command.body[at - _TWO.size :].partition(b"\0")[0])
