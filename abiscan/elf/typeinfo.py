"""Classes of other libraries from which a file derives, from its own type information.

The type information of a class (Itanium C++ ABI, section 2.9.5) is an object in the file: a pointer into the vtable of
`__si_class_type_info` or `__vmi_class_type_info` (two words after its symbol), a pointer to its name, then pointers to
the type information of its bases. A base in another library is a relocation against its `_ZTI` symbol at that place.
Catch clauses, casts and `typeid` refer to type information from elsewhere, which does not mean a derived class.
"""

from __future__ import annotations

from collections.abc import Collection

from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.own_vtables import Pointers, own_vtables, type_name
from abiscan.elf.relocations import ABSOLUTE, RelocatedWord, references
from abiscan.model.facts import DerivedClass

_SINGLE = "_ZTVN10__cxxabiv120__si_class_type_infoE"
_MULTIPLE = "_ZTVN10__cxxabiv121__vmi_class_type_infoE"
_WORD = 8
# Maximum number of bases of a class; each takes two words after the first three.
_MAX_BASES = 32


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
    written = Pointers(elf)
    tables = own_vtables(written, {start for start in starts.values() if heads[start] == _SINGLE})
    found = set()
    for pointer, start in starts.items():
        name = type_name(elf, written, start)
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
