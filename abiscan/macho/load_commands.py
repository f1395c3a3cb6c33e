"""Reads the load commands of a Mach-O file."""

from __future__ import annotations

import struct
from typing import Final

from msgspec import Struct

from abiscan.macho.macho_image import LoadCommand, MachoImage, decoded
from abiscan.model.limits import MAX_NEEDED
from abiscan.model.macho_facts import LibraryLink, LinkedLibrary

_REQUIRED: Final = 0x80000000  # LC_REQ_DYLD
_LC_ID_DYLIB, _LC_UUID, _LC_RPATH = 0x0D, 0x1B, 0x1C | _REQUIRED
_LINKS: Final = {
    0x0C: LibraryLink.NORMAL,
    0x18 | _REQUIRED: LibraryLink.WEAK,
    0x1F | _REQUIRED: LibraryLink.REEXPORT,
    0x20: LibraryLink.LAZY,
    0x23 | _REQUIRED: LibraryLink.UPWARD,
}
_LC_DYLD_INFO, _LC_DYLD_EXPORTS_TRIE, _LC_DYLD_CHAINED_FIXUPS = 0x22, 0x33 | _REQUIRED, 0x34 | _REQUIRED
_LC_BUILD_VERSION: Final = 0x32
_LC_ENCRYPTION_INFO: Final = frozenset({0x21, 0x2C})
_VERSION_MIN: Final = {0x24: "macos", 0x25: "ios", 0x2F: "tvos", 0x30: "watchos"}
_PLATFORMS: Final = {
    1: "macos",
    2: "ios",
    3: "tvos",
    4: "watchos",
    5: "bridgeos",
    6: "maccatalyst",
    7: "ios-simulator",
    8: "tvos-simulator",
    9: "watchos-simulator",
    10: "driverkit",
    11: "visionos",
    12: "visionos-simulator",
}
_TOOLS: Final = {1: "clang", 2: "swift", 3: "ld", 4: "lld"}
# A dylib_use_command has this instead of a time stamp, and flags after its fields.
_USE_MARKER: Final = 0x1A741800
_USE_FLAGS: Final = ((1, LibraryLink.WEAK), (2, LibraryLink.REEXPORT), (4, LibraryLink.UPWARD))

_ONE, _TWO, _THREE, _FOUR = struct.Struct("<I"), struct.Struct("<II"), struct.Struct("<III"), struct.Struct("<IIII")
_DYLD_INFO = struct.Struct("<IIIIIIIIII")


class DyldTables(Struct, frozen=True):
    """(offset in the slice, size) of the tables that dyld reads; None for one that the file lacks."""

    chained: tuple[int, int] | None = None
    bind: tuple[int, int] | None = None
    weak_bind: tuple[int, int] | None = None
    lazy_bind: tuple[int, int] | None = None
    exports: tuple[int, int] | None = None


class Target(Struct, frozen=True):
    """The system that the file was built for; see `MachoFacts`."""

    platform: str | None = None
    minimum_os: str | None = None
    sdk: str | None = None
    tools: tuple[tuple[str, str], ...] = ()


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


def run_paths(image: MachoImage) -> tuple[str, ...]:
    """LC_RPATH, in order."""
    return tuple(_text(image, each, image.fields(each, _ONE)[0]) for each in image.commands if each.kind == _LC_RPATH)


def uuid(image: MachoImage) -> str | None:
    """LC_UUID, in hexadecimal digits."""
    command = next((each for each in image.commands if each.kind == _LC_UUID), None)
    return None if command is None else command.body[:16].hex()


def is_encrypted(image: MachoImage) -> bool:
    """Whether its code is encrypted (LC_ENCRYPTION_INFO with a cryptid)."""
    return any(image.fields(each, _THREE)[2] for each in image.commands if each.kind in _LC_ENCRYPTION_INFO)


def dyld_tables(image: MachoImage) -> DyldTables:
    """The places of dyld's tables.

    Raises:
        UnreadableFile: a load command is too short.
    """
    found: dict[str, tuple[int, int]] = {}
    for command in image.commands:
        if command.kind & ~_REQUIRED == _LC_DYLD_INFO:
            words = image.fields(command, _DYLD_INFO)
            for name, at in (("bind", 2), ("weak_bind", 4), ("lazy_bind", 6), ("exports", 8)):
                found.setdefault(name, (words[at], words[at + 1]))
        elif command.kind in (_LC_DYLD_EXPORTS_TRIE, _LC_DYLD_CHAINED_FIXUPS):
            name = "exports" if command.kind == _LC_DYLD_EXPORTS_TRIE else "chained"
            offset, size = image.fields(command, _TWO)
            found[name] = (offset, size)
    return DyldTables(**found)


def build_target(image: MachoImage) -> Target:
    """LC_BUILD_VERSION, or LC_VERSION_MIN_... of older files; the first one.

    Raises:
        UnreadableFile: a load command is too short.
    """
    for command in image.commands:
        if command.kind == _LC_BUILD_VERSION:
            platform, minimum, sdk, count = image.fields(command, _FOUR)
            table = command.body[_FOUR.size : _FOUR.size + count * _TWO.size]
            pairs = _TWO.iter_unpack(table[: len(table) // _TWO.size * _TWO.size])
            tools = tuple((_TOOLS.get(tool, str(tool)), _version(version)) for tool, version in pairs)
            return Target(_PLATFORMS.get(platform, str(platform)), _system(minimum), _system(sdk), tools)
        if command.kind in _VERSION_MIN:
            minimum, sdk = image.fields(command, _TWO)
            return Target(_VERSION_MIN[command.kind], _system(minimum), _system(sdk))
    return Target()


def _library(image: MachoImage, command: LoadCommand, link: LibraryLink) -> LinkedLibrary:
    at, marker, current, compatible = image.fields(command, _FOUR)
    if marker == _USE_MARKER and len(command.body) >= _FOUR.size + 4 and link in (LibraryLink.NORMAL, LibraryLink.WEAK):
        (flags,) = _ONE.unpack_from(command.body, _FOUR.size)
        link = next((kind for flag, kind in _USE_FLAGS if flags & flag), link)
    return LinkedLibrary(_text(image, command, at), link, _version(current), _version(compatible))


def _text(image: MachoImage, command: LoadCommand, at: int) -> str:
    # The offset counts from the start of the command, eight bytes before its body.
    if not _TWO.size <= at < len(command.body) + _TWO.size:
        raise image.corrupt(f"the text of a load command of type {command.kind:#x} lies outside of it")
    return decoded(command.body[at - _TWO.size :].partition(b"\0")[0])


def _version(number: int) -> str:
    return f"{number >> 16}.{number >> 8 & 0xFF}.{number & 0xFF}"


def _system(number: int) -> str | None:
    """A version of the system, `11.0`; None if it is zero."""
    return _version(number).removesuffix(".0") if number else None
