"""The export trie (LC_DYLD_INFO and LC_DYLD_EXPORTS_TRIE; EXPORT_SYMBOL_FLAGS_... of <mach-o/loader.h>)."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.macho.variable_length import DamagedTableError, read_name, read_uleb
from abiscan.model.limits import MAX_EXPORTS, MAX_NAMES, MAX_STRING

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
