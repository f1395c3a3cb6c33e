"""The export trie (LC_DYLD_INFO and LC_DYLD_EXPORTS_TRIE; EXPORT_SYMBOL_FLAGS_... of <mach-o/loader.h>)."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from abiscan.macho.variable_length import DamagedTableError, read_name, read_uleb
from abiscan.model.limits import MAX_EXPORTS, MAX_NAMES, MAX_STRING

_KIND, _THREAD_LOCAL = 0x03, 0x01
_ABSOLUTE = 0x02
_WEAK, _REEXPORT = 0x04, 0x08


class TrieExport(Struct, frozen=True, gc=False):
    """An entry of the trie.

    Attributes:
        address: relative to the header; for a re-export, the ordinal of the library.
    """

    name: bytes
    address: int
    weak: bool
    thread_local: bool
    absolute: bool
    is_reexport: bool


def read_trie(data: bytes) -> Iterator[TrieExport]:
    """Every export, in the order of the trie. Linkers write disjoint nodes with one parent each. Reading stops if a
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
            yield _terminal(data[at:children], name)
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


def _terminal(data: bytes, name: bytes) -> TrieExport:
    flags, at = read_uleb(data, 0)
    address, at = read_uleb(data, at)
    is_reexport = bool(flags & _REEXPORT)
    if is_reexport:
        read_name(data, at)  # that in the other library; must end in the data
    kind = flags & _KIND
    return TrieExport(name, address, bool(flags & _WEAK), kind == _THREAD_LOCAL, kind == _ABSOLUTE, is_reexport)
