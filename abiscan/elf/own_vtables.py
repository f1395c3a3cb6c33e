"""The vtables of a file's own classes, found through their type information, with or without symbols.

A vtable (Itanium C++ ABI, 2.5.2) is: offset to top, pointer to the type information, one pointer per virtual function.
Extensions are usually compiled with hidden visibility and stripped, so no symbol has the address of the table; the
relocation that writes the address of the type information does.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.relocations import pointers
from abiscan.errors import UnreadableFile
from abiscan.model.facts import VtableWord

_WORD = 8
# Maximum number of functions read from one table; the longest in libtorch has about fifty.
_MAX_FUNCTIONS = 512
_MAX_NAME = 1 << 16


class Pointers:
    """Every word that the loader fills in, by its address.

    Relocations in packed form (DT_RELR) are not included.

    Raises:
        UnreadableFile: a relocation table lies outside of the file.
    """

    def __init__(self, elf: DynamicFile) -> None:
        self._elf = elf
        # An address in the file, or, if negative, ~index in .dynsym.
        self._at = dict(pointers(elf.relocations, elf.machine))

    def __contains__(self, place: int) -> bool:
        return place in self._at

    def name(self, place: int) -> str | None:
        """The symbol whose address is written there; None for an address without a symbol."""
        pointer = self._at[place]
        if pointer >= ~0:  # symbol 0 is the null symbol
            return None
        try:
            return self._elf.symbols.name_of(self._elf.symbols.raw(~pointer)).decode("utf-8", "surrogateescape")
        except UnreadableFile:
            return None  # the relocation refers to no symbol of the table

    def address(self, place: int) -> int | None:
        """The address in the file that is written there; None for a symbol of another library or no relocation."""
        pointer = self._at.get(place)
        if pointer is None:
            return None
        return pointer if pointer >= 0 else self._values.get(pointer)

    @cached_property
    def _values(self) -> dict[int, int]:
        """Addresses of the referenced symbols that the file defines."""
        indices = {~pointer for pointer in self._at.values() if pointer < 0}
        return {~index: value for index, value in self._elf.symbols.values_of(indices).items() if value}

    def to(self, addresses: Collection[int]) -> list[tuple[int, int]]:
        """(place, address) of the pointers to one of these, by place."""
        values = {pointer: value for pointer, value in self._values.items() if value in addresses}
        wanted = {*addresses, *values}
        found = [(place, pointer) for place, pointer in self._at.items() if pointer in wanted]
        return sorted((place, values.get(pointer, pointer)) for place, pointer in found)


def own_vtables(pointers: Pointers, types: Collection[int]) -> dict[int, tuple[VtableWord, ...]]:
    """The primary vtable of each type: address of its type information -> words.

    Args:
        types: addresses of type information in the file.

    Returns:
        For each function its symbol, or None without one; 0 for the two words before the functions. The list ends at
        the first word that is not a pointer: without a symbol the length of a table is unknown, so it may be too long.
        Types without a table (never constructed) are left out.
    """
    found: dict[int, tuple[VtableWord, ...]] = {}
    for place, address in pointers.to(types):
        # The offset to top precedes it; a pointer there means another kind of table (the GOT, a base list).
        if address in found or place - _WORD in pointers or place + _WORD not in pointers:
            continue
        found[address] = (0, 0, *_functions(place + _WORD, pointers))
    return found


def _functions(start: int, pointers: Pointers) -> list[str | None]:
    functions: list[str | None] = []
    for place in range(start, start + _MAX_FUNCTIONS * _WORD, _WORD):
        if place not in pointers:
            break
        name = pointers.name(place)
        if name is not None and name.startswith(("_ZTV", "_ZTI", "_ZTS")):
            break  # the next object: type information begins with a pointer into a vtable
        functions.append(name)
    return functions


def type_name(elf: DynamicFile, pointers: Pointers, address: int) -> str | None:
    """The symbol of type information, from the name that it points to; None if that cannot be read."""
    text = pointers.address(address + _WORD)
    if text is None:
        return None
    try:
        offset = elf.image.offset_of(text, "a type's name")
        raw = elf.image.string(offset, min(offset + _MAX_NAME, elf.image.size))
    except UnreadableFile:
        return None
    # A leading asterisk marks a type that is compared by address (Itanium C++ ABI, 2.9.5; GCC's internal linkage).
    return "_ZTI" + raw.decode("utf-8", "surrogateescape").removeprefix("*") if raw else None
