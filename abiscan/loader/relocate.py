"""Lookups of an object's relocations, and the first that fails: elf/dl-reloc.c, do-rel.h and each machine's
dl-machine.h of glibc."""

from __future__ import annotations

from msgspec import Struct

from abiscan.elf import gnu_hashes
from abiscan.elf.symbols import STB_WEAK, RawSymbol
from abiscan.loader.definitions import COPY_CLASS, PLT_CLASS, SymbolReference, Version
from abiscan.loader.linkmap import LinkMap
from abiscan.loader.lookup import Binding, Scope, resolve
from abiscan.model.loading import LoaderStop, StopKind

# elf_machine_type_class: relocation types of the PLT class (jump slots and TLS), and copy relocations.
_TYPE_CLASSES: dict[str, dict[int, int]] = {
    "x86_64": {7: PLT_CLASS, 16: PLT_CLASS, 17: PLT_CLASS, 18: PLT_CLASS, 36: PLT_CLASS, 5: COPY_CLASS},
    "aarch64": {1026: PLT_CLASS, 1028: PLT_CLASS, 1029: PLT_CLASS, 1030: PLT_CLASS, 1031: PLT_CLASS, 1024: COPY_CLASS},
    "i386": {7: PLT_CLASS, 14: PLT_CLASS, 35: PLT_CLASS, 36: PLT_CLASS, 37: PLT_CLASS, 41: PLT_CLASS, 5: COPY_CLASS},
    "riscv64": {5: PLT_CLASS, 7: PLT_CLASS, 9: PLT_CLASS, 11: PLT_CLASS, 4: COPY_CLASS},
    "ppc64le": {21: PLT_CLASS, 68: PLT_CLASS, 73: PLT_CLASS, 78: PLT_CLASS, 19: COPY_CLASS},
    "s390x": {11: PLT_CLASS, 54: PLT_CLASS, 55: PLT_CLASS, 56: PLT_CLASS, 9: COPY_CLASS},
    "loongarch64": {5: PLT_CLASS, 7: PLT_CLASS, 9: PLT_CLASS, 11: PLT_CLASS, 4: COPY_CLASS},
}


def type_class(machine: str, kind: int) -> int:
    """The class of a relocation type, which excludes some definitions from a lookup."""
    return _TYPE_CLASSES.get(machine, {}).get(kind, 0)


class Lookup(Struct, frozen=True, gc=False):
    """The symbol lookup of a relocation.

    Attributes:
        symbol: the entry in .dynsym.
        weak: whether the lookup may fail.
    """

    symbol: RawSymbol
    reference: SymbolReference
    hash: int
    weak: bool


def find_lookups(item: LinkMap) -> list[Lookup]:
    """Lookups of an object's relocations, each entry and class once, in their order.

    Entries that resolve to the object itself without a lookup are left out, and those whose lookup cannot fail because
    the object exports them and is in its own scope.
    """
    elf = item.elf
    if elf is None:
        return []
    classes = _TYPE_CLASSES.get(elf.machine, {})
    get = classes.get
    exports = item.definitions
    if exports is not None and exports.table is not None:
        open_references = elf.open_references
    else:
        open_references = elf.symbols.open_references(elf.referred, defines=False)
    wanted = {symbol.number: symbol for symbol in open_references}
    classed = dict.fromkeys([(index, get(kind, 0)) for index, kind in elf.relocated(wanted)])
    kept = [(wanted[index], type_class) for index, type_class in classed]
    return lookups_for(item, kept)


def lookups_for(item: LinkMap, symbols: list[tuple[RawSymbol, int]]) -> list[Lookup]:
    """Lookups of (entry, type class) pairs of an object, with the versions that the object requires."""
    if item.elf is None:
        return []
    exports = item.definitions
    versions: dict[int, Version] = {} if exports is None else exports.versions
    table = item.elf.symbols
    numbers = [symbol.number for symbol, _ in symbols]
    names = table.names_at(numbers)
    version_indices = table.version_indices(numbers)
    found = []
    for (symbol, type_class), name, hashed, number in zip(
        symbols, names, gnu_hashes(names), version_indices, strict=True
    ):
        version = versions.get(number & 0x7FFF)
        # A version without a hash counts as none (resolve_map).
        wanted = version if version is not None and version.hash else None
        found.append(Lookup(symbol, SymbolReference(name, wanted, type_class), hashed, symbol.binding == STB_WEAK))
    return found


def bind(item: LinkMap, lookups: list[Lookup], process_scope: Scope, search_list: Scope) -> list[Binding | None]:
    """Resolve the lookups of an object: in itself first with DT_SYMBOLIC, then in the global scope, then in the search
    list of the opened object.

    Args:
        search_list: without the objects of the global scope.
    """
    references = [lookup.reference for lookup in lookups]
    hashes = [lookup.hash for lookup in lookups]
    found: list[Binding | None] = [None] * len(lookups)
    if item.elf is not None and item.elf.dynamic.symbolic:
        found = resolve(references, hashes, [item])
    for scope in (process_scope, search_list):
        pending = [i for i, binding in enumerate(found) if binding is None]
        answers = scope.resolve([references[i] for i in pending], [hashes[i] for i in pending])
        for i, binding in zip(pending, answers, strict=True):
            found[i] = binding
    return found


def first_missing(item: LinkMap, lookups: list[Lookup], found: list[Binding | None]) -> LoaderStop | None:
    """The stop at the first strong reference without a definition."""
    for lookup, binding in zip(lookups, found, strict=True):
        if binding is None and not lookup.weak:
            name = lookup.reference.name.decode("utf-8", "surrogateescape")
            version = lookup.reference.version
            return LoaderStop(
                StopKind.UNDEFINED_SYMBOL, item.name, symbol=name, version=None if version is None else version.name
            )
    return None
