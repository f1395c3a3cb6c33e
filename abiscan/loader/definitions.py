"""Exports of an object, and whether an export satisfies a reference: `check_match` in elf/dl-lookup.c of glibc."""

from __future__ import annotations

from functools import cached_property

from msgspec import Struct

from abiscan.elf import ElfFile, RawSymbol
from abiscan.elf.symbols import DEFINITION_TYPES, SHN_ABS, SHN_UNDEF, STT_TLS, VERSYM_HIDDEN
from abiscan.elf.version_records import VER_FLG_BASE

PLT_CLASS, COPY_CLASS = 1, 2
# Maximum number of cached references of one object.
_KEPT = 1 << 16


class Version(Struct, frozen=True, cache_hash=True, gc=False):
    """An entry of l_versions (struct r_found_version). `library` is None for a version that the object defines."""

    name: str
    hash: int
    hidden: bool
    library: str | None


class SymbolReference(Struct, frozen=True, cache_hash=True, gc=False):
    """The key of a symbol lookup.

    Attributes:
        version: None for an unversioned reference.
        type_class: PLT_CLASS if an undefined entry with an address does not count, COPY_CLASS for a copy relocation.
    """

    name: bytes
    version: Version | None
    type_class: int


class Definitions:
    """The exports of one object, as references see them.

    Results are cached: two thirds of the references of several files of a run to a library are the same.

    Attributes:
        table: its hash table; None if it has none: then nothing can be found in it.
    """

    def __init__(self, elf: ElfFile) -> None:
        self.table = elf.symbols.hash_table
        self._symbols = elf.symbols
        self._matched: dict[SymbolReference, RawSymbol | None] = {}

    @cached_property
    def versions(self) -> dict[int, Version]:
        """l_versions: version index to version. The base version (the file's own name) is left out, so an index without
        an entry is one with hash 0."""
        found: dict[int, Version] = {}
        if self._symbols.has_versions:
            for library, entries in self._symbols.version_records.needs:
                for version, index in entries:
                    found[index & 0x7FFF] = Version(version.name, version.hash, bool(index & 0x8000), library)
            for version, index, flags in self._symbols.version_records.definitions:
                if not flags & VER_FLG_BASE:
                    found[index & 0x7FFF] = Version(version.name, version.hash, False, None)
                else:
                    found.setdefault(0, _NO_VERSION)
        return found

    def match(self, reference: SymbolReference, hashed: int) -> RawSymbol | None:
        """The entry of this object that a reference accepts, with any binding. The name must have passed
        `GnuHashTable.screen`."""
        known = self._matched
        if reference not in known:
            if len(known) > _KEPT:
                known.clear()
            known[reference] = self._match(reference, hashed)
        return known[reference]

    def _match(self, reference: SymbolReference, hashed: int) -> RawSymbol | None:
        if self.table is None:
            return None
        indices = self.table.find_screened(reference.name, hashed)
        if not indices:
            return None
        wanted = reference.version
        versions = self.versions
        defaults: list[RawSymbol] = []
        for index in indices:
            symbol = self._symbols.raw(index)
            if symbol.value == 0 and symbol.section != SHN_ABS and symbol.type != STT_TLS:
                continue
            if symbol.section == SHN_UNDEF and reference.type_class & PLT_CLASS:
                continue
            if symbol.type not in DEFINITION_TYPES:
                continue
            if versions:
                raw = self._symbols.version_index(index)
                number = raw & 0x7FFF
                own = versions.get(number, _NO_VERSION)
                if wanted is not None:
                    same = own.hash == wanted.hash and own.name == wanted.name
                    if not same and (wanted.hidden or own.hash or raw & VERSYM_HIDDEN):
                        continue
                elif number >= 3:
                    # An unversioned reference takes the oldest version, or the only one among newer ones.
                    if not raw & VERSYM_HIDDEN:
                        defaults.append(symbol)
                    continue
            return symbol
        return defaults[0] if len(defaults) == 1 else None


_NO_VERSION = Version("", 0, False, None)
