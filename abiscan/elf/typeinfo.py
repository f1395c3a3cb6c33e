"""Classes of other libraries from which a file derives, from its own type information.

The type information of a class (Itanium C++ ABI, section 2.9.5) is an object in the file: a pointer into the vtable of
`__si_class_type_info` or `__vmi_class_type_info` (two words after its symbol), a pointer to its name, then pointers to
the type information of its bases. A base in another library is a relocation against its `_ZTI` symbol at that place.
Catch clauses, casts and `typeid` refer to type information from elsewhere, which does not mean a derived class.

A vtable (2.5.2) is: offset to top, pointer to the type information, one pointer per virtual function. Extensions are
usually compiled with hidden visibility and stripped, so no symbol has the address of the table; the relocation that
writes the address of the type information does.
"""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property

from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.relocations import ABSOLUTE, RelocatedWord, pointers, references
from abiscan.errors import UnreadableFile
from abiscan.model.facts import DerivedClass, VtableWord

_SINGLE = "_ZTVN10__cxxabiv120__si_class_type_infoE"
_MULTIPLE = "_ZTVN10__cxxabiv121__vmi_class_type_infoE"
# Maximum number of bases of a class; each takes two words after the first three.
_MAX_BASES = 32
_WORD = 8
# Maximum number of functions read from one table; the longest in libtorch has about fifty.
_MAX_FUNCTIONS = 512
_MAX_NAME = 1 << 16


class _Pointers:
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
        """The symbol with the address that is written there; None for an address without a symbol."""
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


def _own_vtables(pointers: _Pointers, types: Collection[int]) -> dict[int, tuple[VtableWord, ...]]:
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


def _functions(start: int, pointers: _Pointers) -> list[str | None]:
    functions: list[str | None] = []
    for place in range(start, start + _MAX_FUNCTIONS * _WORD, _WORD):
        if place not in pointers:
            break
        name = pointers.name(place)
        if name is not None and name.startswith(("_ZTV", "_ZTI", "_ZTS")):
            break  # the next object: type information begins with a pointer into a vtable
        functions.append(name)
    return functions


def _type_name(elf: DynamicFile, pointers: _Pointers, address: int) -> str | None:
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


def derived_classes(elf: DynamicFile, bases: Collection[str] | None = None) -> tuple[DerivedClass, ...]:
    """Classes of the file that derive from a class with imported type information, sorted.

    Args:
        bases: mangled `_ZTI` names that count (default: all imports of that kind).

    Raises:
        UnreadableFile: a table lies outside of the file.
    """
    absolute = ABSOLUTE.get(elf.machine)
    if absolute is None:
        return ()
    wanted = {
        each.index: each.name
        for each in elf.imports
        if each.name.startswith("_ZTI") and (bases is None or each.name in bases)
    }
    kind_of = {each.index: each.name for each in elf.imports if each.name in (_SINGLE, _MULTIPLE)}
    if not wanted or not kind_of:
        return ()
    pointers: list[RelocatedWord] = []
    heads: dict[int, str] = {}
    for each in references(elf.relocations, wanted.keys() | kind_of.keys()):
        if each.type != absolute:
            continue
        if each.symbol in wanted:
            pointers.append(each)
        elif each.addend == 2 * _WORD:
            heads[each.place] = kind_of[each.symbol]
    starts = {each: start for each in pointers if (start := _find_start(each.place, heads)) is not None}
    if not starts:
        return ()
    written = _Pointers(elf)
    tables = _own_vtables(written, {start for start in starts.values() if heads[start] == _SINGLE})
    found = set()
    for pointer, start in starts.items():
        name = _type_name(elf, written, start)
        if name is not None and elf.export(name) is None:
            name = None
        table = elf.export("_ZTV" + name[4:]) if name is not None else None
        size = table.size if table is not None and table.size else None
        slots = tables.get(start)
        if slots is not None and size is not None:
            slots = slots[: size // _WORD]
        found.add(DerivedClass(wanted[pointer.symbol], name, size, slots))
    return tuple(sorted(found, key=lambda each: (each.base, each.name or "", each.vtable_size or 0, str(each.slots))))


def _find_start(place: int, heads: dict[int, str]) -> int | None:
    """The start of the type information with a base pointer at `place`; None if there is none."""
    if heads.get(place - 2 * _WORD) == _SINGLE:
        return place - 2 * _WORD
    for number in range(_MAX_BASES):
        start = place - (3 + 2 * number) * _WORD
        if heads.get(start) == _MULTIPLE:
            return start
        if start in heads:
            return None
    return None
