"""The words of a vtable: relocations of its range, resolved to names.

A vtable (Itanium C++ ABI, 2.5 "Virtual Table Layout") holds offset to top, typeinfo pointer and one pointer per virtual
function. In a shared object the pointers are dynamic relocations: by symbol if the function can be interposed,
otherwise relative (base + address): then only a symbol table has the name for the address. .symtab is used for that in
files that were not stripped, because inline virtual functions are hidden and in no other table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from abiscan.elf.dynamic import DT_RELR
from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.relocations import ABSOLUTE, pointers
from abiscan.elf.sections import static_symbols
from abiscan.elf.symbols import SHN_UNDEF, STT_FUNC, STT_OBJECT
from abiscan.errors import UnreadableFile
from abiscan.model.facts import Export, VtableWord

# A table of a megabyte would have 131,072 functions: no class has.
_MAX_TABLE = 1 << 20


def read_vtables(elf: DynamicFile, tables: Iterable[Export]) -> dict[str, tuple[VtableWord, ...]]:
    """Read the words of each vtable, in order.

    Args:
        tables: exports whose name starts with `_ZTV`; other data are read the same way.

    Returns:
        Name -> for each word the mangled name that it points to, its number if it is not an address (offset to top,
        virtual base offset, or 0 for a function that was never emitted), or None if no symbol has the address.

    Raises:
        UnreadableFile: a relocation table lies outside of the file.
    """
    image = elf.image
    wanted = [t for t in tables if 0 < t.size <= _MAX_TABLE and t.size % 8 == 0 and t.value]
    if not wanted or not image.is64 or elf.machine not in ABSOLUTE:
        return {}
    low = min(t.value for t in wanted)
    high = max(t.value + t.size for t in wanted)
    symbols, addresses = _pointers(elf, low, high)
    packed = DT_RELR in elf.dynamic.values
    plain: dict[str, list[int]] = {}
    for table in wanted:
        try:
            offset = image.offset_of(table.value, "a vtable")
        except UnreadableFile:
            continue
        plain[table.name] = [
            # Offset to top and virtual base offsets are small numbers of either sign.
            value - (1 << 64) if value >> 63 else value
            for value in image.words(offset, table.size // 8, "Q", "a vtable")
        ]
        if packed:
            # DT_RELR keeps the addend in place; its list of addresses is not read here.
            for index, value in enumerate(plain[table.name]):
                if value > 1 << 16:
                    addresses.setdefault(table.value + 8 * index, value)
    names = _find_names(elf, set(addresses.values()))

    def word(at: int, value: int) -> VtableWord:
        if at in symbols:
            return symbols[at]
        if at in addresses:
            return names.get(addresses[at])
        return value

    return {
        table.name: tuple(word(table.value + 8 * i, value) for i, value in enumerate(plain[table.name]))
        for table in wanted
        if table.name in plain
    }


def _pointers(elf: DynamicFile, low: int, high: int) -> tuple[dict[int, str], dict[int, int]]:
    """Relocated words in an address range: those with a symbol, and those with an address."""
    symbols: dict[int, str] = {}
    addresses: dict[int, int] = {}
    for place, pointer in pointers(elf.relocations, elf.machine):
        if not low <= place < high:
            continue
        if pointer < 0:
            symbols[place] = elf.symbols.name_of(elf.symbols.raw(~pointer)).decode("utf-8", "surrogateescape")
        else:
            addresses[place] = pointer
    return symbols, addresses


def _find_names(elf: DynamicFile, addresses: set[int]) -> dict[int, str]:
    found: dict[int, set[str]] = {}
    for export in elf.exports():
        if export.value in addresses:
            found.setdefault(export.value, set()).add(export.name)
    for name, value in _static_symbols(elf, addresses - set(found)):
        found.setdefault(value, set()).add(name)
    return {value: min(names, key=_preference) for value, names in found.items()}


def _preference(name: str) -> tuple[bool, bool, str]:
    """Sort key. The base-object destructor (D2) is often an alias of the complete one (D1), which a vtable refers to;
    the compiler adds suffixes such as `.localalias`."""
    return ("." in name, "D2Ev" in name, name)


def _static_symbols(elf: DynamicFile, addresses: set[int]) -> Iterator[tuple[str, int]]:
    """Functions and objects of .symtab at these addresses; empty for a stripped or damaged table."""
    if not addresses:
        return
    for name, end, info, index, value, _size in static_symbols(elf.image):
        if value in addresses and info & 0xF in (STT_FUNC, STT_OBJECT) and index != SHN_UNDEF:
            raw = elf.image.string(name, end)
            if raw:
                yield raw.decode("utf-8", "surrogateescape"), value
