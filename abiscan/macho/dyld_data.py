"""The tables that dyld reads (<mach-o/loader.h>, <mach-o/fixup-chains.h>): bind opcodes, the export trie and the
imports of chained fixups."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from abiscan.macho.macho_image import MachoImage
from abiscan.model.limits import MAX_EXPORTS, MAX_IMPORTS, MAX_NAMES, MAX_STRING


class DamagedTableError(ValueError):
    """A table of dyld is truncated or invalid; the text is for a message."""


def read_uleb(data: bytes, at: int) -> tuple[int, int]:
    """(value, next offset) of an unsigned number of at most ten bytes.

    Raises:
        DamagedTableError: it is longer, or truncated.
    """
    value = 0
    end = len(data)
    for shift in range(0, 70, 7):
        if at >= end:
            raise DamagedTableError("a number ends outside")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
    raise DamagedTableError("a number of more than ten bytes")


def read_name(data: bytes, at: int) -> tuple[bytes, int]:
    """(name, offset after its zero byte).

    Raises:
        DamagedTableError: there is no zero byte.
    """
    end = data.find(b"\0", at)
    if end < 0:
        raise DamagedTableError("a name ends outside")
    return data[at:end], end + 1


# --- bind opcodes: the symbols that dyld looks up ---------------------------------------------------------------------

_WEAK_IMPORT: Final = 1
# Opcodes by their high four bits -> how many numbers follow.
_NUMBERS: Final = {0x60: 1, 0x70: 1, 0x80: 1, 0xA0: 1, 0xC0: 2}
_BINDS: Final = frozenset({0x90, 0xA0, 0xB0, 0xC0})
_PLAIN: Final = frozenset({0x50, 0x90, 0xB0})


def bound_symbols(data: bytes, *, lazy: bool = False) -> Iterator[tuple[bytes, int, bool]]:
    """(name, ordinal, weak import) of each symbol that the opcodes bind, each time it is set. Addresses and repetitions
    are ignored: a repetition is one opcode, so the time is linear.

    Args:
        lazy: the opcodes are for lazy binding, where each entry ends with BIND_OPCODE_DONE.

    Raises:
        DamagedTableError: unknown opcode, or a number or name without an end.
    """
    at, end = 0, len(data)
    ordinal = 0
    name = b""
    weak = False
    fresh = False
    while at < end:
        byte = data[at]
        at += 1
        opcode, immediate = byte & 0xF0, byte & 0x0F
        if opcode in _BINDS and fresh:
            yield name, ordinal, weak
            fresh = False
        if opcode in _PLAIN:
            continue
        if opcode in _NUMBERS:
            for _ in range(_NUMBERS[opcode]):
                _, at = read_uleb(data, at)
        elif opcode == 0x00:
            if not lazy:
                return
        elif opcode == 0x10:
            fresh, ordinal = fresh or (bool(name) and ordinal != immediate), immediate
        elif opcode == 0x20:
            number, at = read_uleb(data, at)
            fresh, ordinal = fresh or (bool(name) and ordinal != number), number
        elif opcode == 0x30:
            special = immediate - 16 if immediate else 0
            fresh, ordinal = fresh or (bool(name) and ordinal != special), special
        elif opcode == 0x40:
            weak = bool(immediate & _WEAK_IMPORT)
            name, at = read_name(data, at)
            fresh = True
        elif opcode == 0xD0:
            # BIND_OPCODE_THREADED: the size of a table follows the first of its two forms.
            if immediate == 0:
                _, at = read_uleb(data, at)
        else:
            raise DamagedTableError(f"unknown bind opcode {byte:#04x}")


# --- export trie ------------------------------------------------------------------------------------------------------

# Flags of an export; its kind is 0, THREAD_LOCAL or ABSOLUTE.
KIND, THREAD_LOCAL, ABSOLUTE, WEAK, REEXPORT = 0x03, 0x01, 0x02, 0x04, 0x08


def read_trie(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """(name, flags, address) of every export, in the order of the trie. Addresses are relative to the header; for a
    re-export, the ordinal of the library. Linkers write disjoint nodes with one parent each. Reading stops if a
    node is reached twice or nodes overlap, so the time is linear.

    Raises:
        DamagedTableError: a node is outside of the data or reached twice, nodes overlap, or there are too many exports
            or too long names.
    """
    left, names_left, exports_left = len(data), MAX_NAMES, MAX_EXPORTS
    waiting: list[tuple[int, bytes]] = [(0, b"")] if data else []
    seen: set[int] = set()
    while waiting:
        node, name = waiting.pop()
        if node in seen:
            raise DamagedTableError("a node of the export trie is reached twice")
        seen.add(node)
        size, at = read_uleb(data, node)
        children = at + size
        if children >= len(data):
            raise DamagedTableError("a node of the export trie ends outside")
        if size:
            exports_left -= 1
            yield name, *_terminal(data[at:children])
        count, at = data[children], children + 1
        found = []
        for _ in range(count):
            edge, at = read_name(data, at)
            child, at = read_uleb(data, at)
            longer = name + edge
            names_left -= len(longer)
            if len(longer) > MAX_STRING or names_left < 0:
                raise DamagedTableError(f"names of more than {MAX_NAMES} bytes together in the export trie")
            found.append((child, longer))
        waiting += reversed(found)
        left -= at - node
        if left < 0:
            raise DamagedTableError("nodes of the export trie overlap")
        if exports_left < 0:
            raise DamagedTableError(f"more than {MAX_EXPORTS} exports")


def _terminal(data: bytes) -> tuple[int, int]:
    flags, at = read_uleb(data, 0)
    address, at = read_uleb(data, at)
    if flags & REEXPORT:
        read_name(data, at)  # that in the other library; must end in the data
    return flags, address


# --- imports of chained fixups ----------------------------------------------------------------------------------------

_HEADER = struct.Struct("<IIIIIII")
# DYLD_CHAINED_IMPORT, ..._ADDEND, ..._ADDEND64.
_ENTRIES: Final = {1: struct.Struct("<I"), 2: struct.Struct("<Ii"), 3: struct.Struct("<QQ")}


def chained_imports(image: MachoImage, offset: int, size: int) -> list[tuple[bytes, int, bool]]:
    """(name, ordinal, weak import) of each entry of the imports table, at an offset of the slice.

    Raises:
        UnreadableFile: a table lies outside of the other, is compressed or of an unknown format, or has more than
            MAX_IMPORTS entries.
    """
    what = "the chained fixups"
    if size < _HEADER.size:
        raise image.corrupt(f"{what} have {size} bytes")
    header = image.piece(offset, _HEADER.size, what)
    _, _, imports, symbols, count, kind, packing = _HEADER.unpack(header)
    if packing:
        raise image.corrupt("compressed symbol names in its chained fixups")
    layout = _ENTRIES.get(kind)
    if layout is None:
        raise image.corrupt(f"unknown format {kind} of the imports in its chained fixups")
    if count > MAX_IMPORTS or imports + count * layout.size > size or symbols > size:
        raise image.corrupt(f"{what} end outside of their {size} bytes")
    rows = layout.iter_unpack(image.piece(offset + imports, count * layout.size, what))
    words = [row[0] for row in rows]
    # Ordinals are signed in all formats: the highest values stand for the special lookups.
    if kind == 3:
        fields = [(word >> 32, word & 0xFFFF, 0x10000, bool(word >> 16 & 1)) for word in words]
    else:
        fields = [(word >> 9, word & 0xFF, 0x100, bool(word >> 8 & 1)) for word in words]
    start, end = image.slice_start + offset + symbols, image.slice_start + offset + size
    names = image.strings([start + name for name, _, _, _ in fields], end)
    return [
        (name, ordinal - span if ordinal > span - 16 else ordinal, weak)
        for name, (_, ordinal, span, weak) in zip(names, fields, strict=True)
    ]
