"""An open ELF file with its dynamic section: name lookup, and its facts as a value.

Analyses (call sites, vtables, debug information) are separate modules that import this one; `ElfFile` has them as
methods.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterator
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from abiscan.elf import notes
from abiscan.elf.dynamic import Dynamic, read_dynamic
from abiscan.elf.hashing import gnu_hashes
from abiscan.elf.image import Image
from abiscan.elf.relocations import (
    JUMP_SLOT,
    PackedRelocations,
    RelocationTable,
    packed_relocations,
    relocation_tables,
    symbol_references,
)
from abiscan.elf.symbols import (
    SHN_UNDEF,
    STB_GNU_UNIQUE,
    STB_LOCAL,
    STT_TLS,
    STV_HIDDEN,
    STV_INTERNAL,
    VERSYM_HIDDEN,
    RawSymbol,
    SymbolTable,
)
from abiscan.errors import UnreadableFile
from abiscan.file_buffer import Sparse, decoded
from abiscan.model.facts import Export, Import, SharedObject, SymbolBinding, SymbolType, VersionNeed, Visibility

if TYPE_CHECKING:
    import mmap

_BINDINGS = {
    STB_LOCAL: SymbolBinding.LOCAL,
    1: SymbolBinding.GLOBAL,
    2: SymbolBinding.WEAK,
    STB_GNU_UNIQUE: SymbolBinding.UNIQUE,
}
_TYPES = {
    0: SymbolType.NOTYPE,
    1: SymbolType.OBJECT,
    2: SymbolType.FUNC,
    3: SymbolType.SECTION,
    4: SymbolType.FILE,
    5: SymbolType.COMMON,
    STT_TLS: SymbolType.TLS,
    10: SymbolType.IFUNC,
}
# Number of references from which `open_references` is kept for another opening of the file: hashing the names of 40,000
# takes 0.15 s. Maximum number of files for which it is kept.
_MANY_REFERENCES, _KEPT_FILES = 10_000, 16
_OPEN_REFERENCES: dict[tuple[int, int, int, int], list[RawSymbol]] = {}
_VISIBILITIES = (Visibility.DEFAULT, Visibility.INTERNAL, Visibility.HIDDEN, Visibility.PROTECTED)


class DynamicFile:
    """An ELF file with a dynamic section: shared object or dynamically linked executable.

    Attributes:
        path: as given by the user; used in messages.
        mapped: path of the file on disk that `buffer` maps.
        image, dynamic, symbols: the layers below, for code that needs the raw tables.
        kept: what functions of higher layers compute once for a file, by function.

    Raises:
        UnreadableFile: it is another kind of file; the message names it.
    """

    def __init__(
        self,
        buffer: bytes | mmap.mmap,
        path: str,
        sparse: Sparse | None = None,
        *,
        mapped: str | os.PathLike[str] | None = None,
    ) -> None:
        self.path = path
        self.mapped = mapped
        self.image = Image(buffer, path, sparse)
        self._sha256 = None if sparse is None else sparse.sha256
        cut = self.image.truncated_segment()
        if cut is not None:
            raise UnreadableFile(
                path,
                f"truncated ELF file: a segment ends at byte {cut.offset + cut.file_size}, the file has "
                f"{self.image.size}; copy or build it again",
            )
        self.dynamic: Dynamic = read_dynamic(self.image)
        self.symbols = SymbolTable(self.image, self.dynamic)
        self.kept: dict[Callable[..., object], Any] = {}

    # --- plain facts --------------------------------------------------------------------------------------------

    @property
    def machine(self) -> str:
        """`x86_64`, `aarch64`, ..."""
        return self.image.machine

    @property
    def size(self) -> int:
        """Size in bytes."""
        return self.image.size

    @property
    def buffer(self) -> bytes | mmap.mmap:
        """The whole file."""
        self.image.need(0, self.image.size)
        return self.image.buffer

    def sha256(self) -> str:
        """SHA-256 of the whole file in hexadecimal. A partly unpacked file has it already and is not unpacked again."""
        if self._sha256 is None:
            from hashlib import sha256

            self._sha256 = sha256(self.buffer).hexdigest()
        return self._sha256

    @cached_property
    def soname(self) -> str | None:
        """DT_SONAME."""
        return None if self.dynamic.soname is None else decoded(self.dynamic.soname)

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """DT_NEEDED, in order."""
        return tuple(decoded(raw) for raw in self.dynamic.needed)

    @cached_property
    def rpath(self) -> str | None:
        """DT_RPATH, unexpanded."""
        return None if self.dynamic.rpath is None else decoded(self.dynamic.rpath)

    @cached_property
    def runpath(self) -> str | None:
        """DT_RUNPATH, unexpanded."""
        return None if self.dynamic.runpath is None else decoded(self.dynamic.runpath)

    # --- symbols ------------------------------------------------------------------------------------------------

    @cached_property
    def relocations(self) -> tuple[RelocationTable, ...]:
        """See `relocations.relocation_tables`."""
        return relocation_tables(self.image, self.dynamic)

    @cached_property
    def packed(self) -> PackedRelocations:
        """See `relocations.packed_relocations`."""
        return packed_relocations(self.image, self.dynamic)

    @cached_property
    def _looked_up(self) -> tuple[int, ...]:
        return symbol_references(self.relocations, self.machine)

    @property
    def _info_shift(self) -> int:
        return 32 if self.image.is64 else 8

    @cached_property
    def referred(self) -> tuple[int, ...]:
        """Symbols that relocations look up, each once, in the loader's order."""
        shift = self._info_shift
        return tuple(dict.fromkeys([info >> shift for info in self._looked_up]))

    def relocated(self, symbols: Container[int] | None = None) -> list[tuple[int, int]]:
        """Distinct (symbol index, relocation type) in the same order, for these symbols (default: all)."""
        shift = self._info_shift
        mask = (1 << shift) - 1
        return [(info >> shift, info & mask) for info in self._looked_up if symbols is None or info >> shift in symbols]

    def is_bound_when_called(self, symbols: Container[int]) -> bool:
        """Whether a lazy loader resolves these symbols (indices of .dynsym) only when they are called: only calls refer
        to them, and the file does not request immediate binding."""
        slot = JUMP_SLOT.get(self.machine)
        return not self.dynamic.binds_now and all(kind == slot for _index, kind in self.relocated(symbols))

    @cached_property
    def open_references(self) -> list[RawSymbol]:
        """Symbols of `referred` that may be defined nowhere; see `SymbolTable.open_references`."""
        key = self._identity if len(self.referred) >= _MANY_REFERENCES else None
        if key is None:
            return self.symbols.open_references(self.referred, defines=True)
        # A run opens a large library as an input, and again for the files that need it.
        if key not in _OPEN_REFERENCES:
            if len(_OPEN_REFERENCES) >= _KEPT_FILES:
                _OPEN_REFERENCES.clear()
            _OPEN_REFERENCES[key] = self.symbols.open_references(self.referred, defines=True)
        return _OPEN_REFERENCES[key]

    @property
    def _identity(self) -> tuple[int, int, int, int] | None:
        """Device, inode, size and time of the mapped file; None for a file in memory."""
        try:
            status = None if self.mapped is None else os.stat(self.mapped)
        except OSError:
            return None
        return None if status is None else (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    @cached_property
    def _at_least(self) -> int:
        return max(self.referred, default=-1) + 1

    @cached_property
    def symbol_count(self) -> int:
        """Number of symbol table entries that are referred to or can be found."""
        return self.symbols.count(self._at_least)

    def undefined(self) -> list[RawSymbol]:
        """Raw undefined entries, in table order."""
        return self.symbols.undefined(self._at_least)

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every named undefined entry of .dynsym, in table order."""
        relocated = set(self.referred)
        table = self.symbols
        versions = {
            number: VersionNeed(each.library, each.name, each.weak)
            for number, each in (table.version_records.versions if table.has_versions else {}).items()
            if each.library is not None
        }
        entries = [symbol for symbol in self.undefined() if symbol.binding != STB_LOCAL]
        numbers = [symbol.number for symbol in entries]
        found = []
        for symbol, raw, version in zip(entries, table.names_at(numbers), table.version_indices(numbers), strict=True):
            if not raw:
                continue
            found.append(
                Import(
                    name=decoded(raw),
                    binding=_BINDINGS.get(symbol.binding, SymbolBinding.OTHER),
                    type=_TYPES.get(symbol.type, SymbolType.OTHER),
                    visibility=_VISIBILITIES[symbol.visibility],
                    version=versions.get(version & 0x7FFF),
                    relocated=symbol.number in relocated,
                    index=symbol.number,
                )
            )
        return tuple(found)

    def exports_name(self, name: str | bytes) -> bool:
        """Whether an entry of this name is defined, neither local nor hidden. Versions are ignored; `loader` checks
        them."""
        raw = name if isinstance(name, bytes) else name.encode("utf-8", "surrogateescape")
        table = self.symbols.hash_table
        return table is not None and any(self._is_export(self.symbols.raw(index)) for index in table.find(raw))

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """The names for which `exports_name` is true."""
        table = self.symbols.hash_table
        if table is None:
            return frozenset()
        raws, hashes = _hashed(names)
        return frozenset(
            names[i]
            for i in table.screen(hashes, range(len(names)))
            if any(self._is_export(self.symbols.raw(index)) for index in table.find_screened(raws[i], hashes[i]))
        )

    @staticmethod
    def _is_export(symbol: RawSymbol) -> bool:
        return (
            symbol.section != SHN_UNDEF
            and symbol.binding != STB_LOCAL
            and symbol.visibility not in (STV_HIDDEN, STV_INTERNAL)
        )

    def export(self, name: str) -> Export | None:
        """The export of this name (the default version first), through the hash table."""
        raw = name.encode("utf-8", "surrogateescape")
        table = self.symbols.hash_table
        numbers = () if table is None else table.find(raw)
        found = [s for s in map(self.symbols.raw, numbers) if self._is_export(s)]
        exports = [self._to_export(s, name) for s in found]
        return min(exports, key=lambda e: e.hidden_version, default=None)

    def exports(self) -> Iterator[Export]:
        """Every export, in table order. Slow: 0.3 s for libtorch_cpu; a plain scan never calls it."""
        for symbol in self.symbols.table():
            if self._is_export(symbol):
                name = decoded(self.symbols.name_of(symbol))
                if name:
                    yield self._to_export(symbol, name)

    def _to_export(self, symbol: RawSymbol, name: str) -> Export:
        raw = self.symbols.version_index(symbol.number)
        version = self.symbols.version_records.versions.get(raw & 0x7FFF) if self.symbols.has_versions else None
        return Export(
            name=name,
            binding=_BINDINGS.get(symbol.binding, SymbolBinding.OTHER),
            type=_TYPES.get(symbol.type, SymbolType.OTHER),
            visibility=_VISIBILITIES[symbol.visibility],
            value=symbol.value,
            size=symbol.size,
            version=version.name if version is not None and raw & 0x7FFF > 1 else None,
            hidden_version=bool(raw & VERSYM_HIDDEN),
        )

    def names_with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Exports whose mangled name starts with `prefix`, sorted, at most `limit`.

        .dynstr is searched for the bytes, in milliseconds instead of a third of a second for all exports; each hit is
        confirmed through the hash table. A name whose string is the tail of a longer one is found too.
        """
        wanted = prefix.encode("utf-8", "surrogateescape")
        if not wanted:
            return ()
        at, end = self.dynamic.strtab, self.dynamic.strings_end
        self.image.need(at, end)
        buffer = self.image.buffer
        found: set[str] = set()
        while len(found) < limit:
            at = buffer.find(wanted, at, end)
            if at < 0:
                break
            raw = self.image.string(at, end)
            if raw and self.exports_name(raw):
                found.add(decoded(raw))
            at += len(wanted)
        return tuple(sorted(found))

    # --- the frozen facts ---------------------------------------------------------------------------------------

    @property
    def reexported(self) -> tuple[str, ...]:
        """Always empty: ELF has no re-exported libraries."""
        return ()

    @property
    def version_definitions(self) -> tuple[str, ...]:
        """Names of .gnu.version_d, including the name of the file itself."""
        return tuple(version.name for version, _index, _flags in self.symbols.version_records.definitions)

    def facts(self) -> SharedObject:
        """All facts about the file that later stages use."""
        needs = tuple(
            VersionNeed(library, version.name, version.weak)
            for library, entries in self.symbols.version_records.needs
            for version, _index in entries
        )
        return SharedObject(
            path=self.path,
            size=self.size,
            machine=self.machine,
            bits=64 if self.image.is64 else 32,
            soname=self.soname,
            needed=self.needed,
            rpath=self.rpath,
            runpath=self.runpath,
            build_id=notes.build_id(self.image),
            imports=self.imports,
            version_needs=needs,
            version_definitions=self.version_definitions,
            compilers=notes.compilers(self.image),
        )


# All files of a package are searched for the names of one file, one after the other.
@lru_cache(maxsize=2)
def _hashed(names: tuple[str, ...]) -> tuple[list[bytes], list[int]]:
    raws = [name.encode("utf-8", "surrogateescape") for name in names]
    return raws, gnu_hashes(raws)
