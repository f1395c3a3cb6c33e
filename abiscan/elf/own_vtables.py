"""The vtables of a file's own classes, found through their type information, named or not.

A vtable (Itanium C++ ABI, 2.5.2) is: offset to top, pointer to the type information, one pointer a virtual function. An
extension is usually compiled with hidden visibility and stripped, so no symbol says where its tables are; the
relocation that writes the address of the type information does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from abiscan.elf.dynamic import DT_RELA, DT_RELASZ

if TYPE_CHECKING:
    from abiscan.elf.file import ElfFile

# R_*_64 (symbol + addend) and R_*_RELATIVE (base + addend): x86-64 psABI table 4.10, AArch64 ELF ABI 5.7.
_ABSOLUTE = {"x86_64": 1, "aarch64": 257}
_RELATIVE = {"x86_64": 8, "aarch64": 1027}
_WORD = 8
# Functions of one table that are read; libtorch's longest has about fifty.
_MAX_FUNCTIONS = 512

# A function by its symbol; 0 for the two words before the functions; None for one that only has an address.
Slot = str | int | None


def own_vtables(elf: ElfFile, types: Mapping[int, str | None]) -> dict[int, tuple[Slot, ...]]:
    """The primary vtable of each type: address of its type information -> words.

    Args:
        types: addresses of type information in the file, with the symbol where one is exported.

    Returns:
        Words up to the first that is no pointer: without a symbol a table's end is not written down, so there may be
        too many. A type without a table (nobody constructs it) is left out, as is one whose relocations are packed
        (DT_RELR), which tells addresses and no more.

    Raises:
        UnreadableFile: a relocation table lies outside of the file.
    """
    values, absolute, relative = elf.dynamic.values, _ABSOLUTE.get(elf.machine), _RELATIVE.get(elf.machine)
    if not types or absolute is None or DT_RELA not in values or not values.get(DT_RELASZ):
        return {}
    count = values[DT_RELASZ] // 24
    offset = elf.image.offset_of(values[DT_RELA], "a relocation table")
    view = elf.image.words(offset, 3 * count, "Q", "a relocation table").tolist()
    names = {name: address for address, name in types.items() if name is not None}
    pointers: dict[int, int] = {}
    heads: list[tuple[int, int]] = []
    for place, info, addend in zip(view[0::3], view[1::3], view[2::3], strict=True):
        kind = info & 0xFFFFFFFF
        if kind == relative:
            pointers[place] = 0
            if addend in types:
                heads.append((place, addend))
        elif kind == absolute:
            pointers[place] = info >> 32
    if names:
        own = {_name(elf, index) for index in set(pointers.values()) if index}
        wanted = names.keys() & own
        if wanted:
            heads += [
                (place, names[name])
                for place, index in pointers.items()
                if index and (name := _name(elf, index)) in wanted
            ]
    found: dict[int, tuple[Slot, ...]] = {}
    for place, address in sorted(heads):
        # The offset to top stands before it; a pointer there means another kind of table (the GOT, a base list).
        if address in found or place - _WORD in pointers or place + _WORD not in pointers:
            continue
        found[address] = (0, 0, *_functions(elf, place + _WORD, pointers))
    return found


def _functions(elf: ElfFile, start: int, pointers: Mapping[int, int]) -> list[str | None]:
    functions: list[str | None] = []
    for place in range(start, start + _MAX_FUNCTIONS * _WORD, _WORD):
        if place not in pointers:
            break
        name = _name(elf, pointers[place]) if pointers[place] else None
        if name is not None and name.startswith(("_ZTV", "_ZTI", "_ZTS")):
            break  # the next object: type information begins with a pointer into a vtable
        functions.append(name)
    return functions


def _name(elf: ElfFile, index: int) -> str:
    return elf.symbols.name_of(elf.symbols.raw(index)).decode("utf-8", "surrogateescape")
