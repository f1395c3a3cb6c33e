"""The version resource (https://learn.microsoft.com/windows/win32/menurc/vs-versioninfo)."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from abiscan.model.pe_facts import VersionResource
from abiscan.pe.pe_image import RESOURCES, PeImage

_DIRECTORY = struct.Struct("<IIHHHH")
_ENTRY = struct.Struct("<II")
_DATA = struct.Struct("<IIII")
_BLOCK = struct.Struct("<HHH")
_FIXED = struct.Struct("<IIIIII")
_RT_VERSION: Final = 16
_IS_DIRECTORY: Final = 1 << 31
_SIGNATURE: Final = 0xFEEF04BD
# A length is a word of two bytes.
_MAX_SIZE: Final = 0xFFFF


def version_resource(image: PeImage) -> VersionResource | None:
    """Read the version resource of a file; None if it has none.

    Raises:
        UnreadableFile: its resource directory or the resource lies outside of the file.
    """
    data = _resource(image)
    if data is None:
        return None
    fixed: tuple[int, ...] | None = None
    strings: list[tuple[str, str]] = []
    for _, value, children in _blocks(data):
        if len(value) >= _FIXED.size:
            words = _FIXED.unpack_from(value)
            fixed = words if words[0] == _SIGNATURE else None
        for key, _, tables in _blocks(children):
            if key != "StringFileInfo":
                continue
            for _, _, rows in _blocks(tables):
                strings += [(name, _text(text)) for name, text, _ in _blocks(rows)]
        break
    if fixed is None:
        return VersionResource(None, None, tuple(strings))
    return VersionResource(_four(*fixed[2:4]), _four(*fixed[4:6]), tuple(strings))


def _resource(image: PeImage) -> bytes | None:
    """The bytes of the first resource of type RT_VERSION, below directories of type, name and language."""
    start, _ = image.directories[RESOURCES]
    if not start:
        return None
    at = 0
    for level in range(3):
        what = "the resource directory"
        _, _, _, _, named, numbered = _DIRECTORY.unpack(image.at_address(start + at, _DIRECTORY.size, what))
        table = image.at_address(start + at + _DIRECTORY.size, (named + numbered) * _ENTRY.size, what)
        entries = list(_ENTRY.iter_unpack(table))
        found = next((each for number, each in entries if level or number == _RT_VERSION), None)
        if found is None or bool(found & _IS_DIRECTORY) != (level < 2):
            return None
        at = found & ~_IS_DIRECTORY
    address, size, _, _ = _DATA.unpack(image.at_address(start + at, _DATA.size, "the version resource"))
    return image.at_address(address, min(size, _MAX_SIZE), "the version resource")


def _blocks(data: bytes) -> Iterator[tuple[str, bytes, bytes]]:
    """(key, value, children) of each block in a list, up to a damaged one."""
    at = 0
    while at + _BLOCK.size <= len(data):
        length, value_length, kind = _BLOCK.unpack_from(data, at)
        if length < _BLOCK.size or at + length > len(data):
            return
        block = data[at : at + length]
        stop = _BLOCK.size
        while stop + 1 < length and block[stop : stop + 2] != b"\0\0":
            stop += 2
        value = -(-(stop + 2) // 4) * 4
        # The length of a text (kind 1) counts characters.
        end = value + value_length * (2 if kind == 1 else 1)
        yield _text(block[_BLOCK.size : stop]), block[value:end], block[-(-end // 4) * 4 :]
        at += -(-length // 4) * 4


def _text(raw: bytes) -> str:
    return raw.decode("utf-16-le", "replace").partition("\0")[0]


def _four(high: int, low: int) -> tuple[int, int, int, int]:
    return high >> 16, high & 0xFFFF, low >> 16, low & 0xFFFF
