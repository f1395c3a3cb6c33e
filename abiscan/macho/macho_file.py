"""An open Mach-O file, or one slice of a universal file: the facade of this room."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from abiscan.file_buffer import complete, decoded
from abiscan.macho.bind_opcodes import bound_symbols
from abiscan.macho.chained_fixups import chained_imports
from abiscan.macho.export_trie import read_trie
from abiscan.macho.load_commands import DyldTables, dyld_tables, install_name, linked_libraries, uuid
from abiscan.macho.macho_image import MachoImage
from abiscan.macho.symbol_list import external_symbols
from abiscan.macho.variable_length import DamagedTableError
from abiscan.model.limits import MAX_IMPORTS
from abiscan.model.macho_facts import LinkedLibrary, LookupScope, MachoExport, MachoImport

if TYPE_CHECKING:
    import mmap

    from abiscan.file_buffer import Sparse

_MH_TWOLEVEL: Final = 0x80
# BIND_SPECIAL_DYLIB_...
_SCOPES: Final = {
    0: LookupScope.SELF,
    -1: LookupScope.MAIN_EXECUTABLE,
    -2: LookupScope.FLAT,
    -3: LookupScope.WEAK_DEFINITION,
}
# (name, ordinal, weak import).
_Bound = tuple[bytes, int, bool]


class MachoFile(MachoImage):
    """One Mach-O file with its tables. Names have the underscore of the symbol table.

    Raises:
        UnreadableFile: see `MachoImage`. Methods raise it for their tables.
    """

    @property
    def bits(self) -> int:
        """64 or 32."""
        return 64 if self.is64 else 32

    @property
    def uuid(self) -> str | None:
        """LC_UUID, in lower-case hexadecimal digits; None without it."""
        return uuid(self)

    @cached_property
    def install_name(self) -> str | None:
        """LC_ID_DYLIB."""
        return install_name(self)

    @cached_property
    def libraries(self) -> tuple[LinkedLibrary, ...]:
        """In the order of the load commands."""
        return linked_libraries(self)

    @cached_property
    def _tables(self) -> DyldTables:
        return dyld_tables(self)

    @property
    def is_two_level(self) -> bool:
        """MH_TWOLEVEL is set."""
        return bool(self.flags & _MH_TWOLEVEL)

    # --- imports ----------------------------------------------------------------------------------------------------

    @cached_property
    def imports(self) -> tuple[MachoImport, ...]:
        """The symbols that dyld looks up when it loads the file, without duplicates per library."""
        return tuple(self._import(*each) for each in self._distinct(self._bound()))

    def _distinct(self, symbols: Iterable[_Bound]) -> Iterable[_Bound]:
        """Each symbol once, in order."""
        found: dict[_Bound, None] = {}
        for each in symbols:
            found[each] = None
            if len(found) > MAX_IMPORTS:
                raise self.corrupt(f"more than {MAX_IMPORTS} imports")
        return found

    def _bound(self) -> Iterable[_Bound]:
        tables = self._tables
        if tables.chained is not None:
            return chained_imports(self, *tables.chained)
        if tables.bind is not None:
            return chain(self._opcodes(tables.bind), self._opcodes(tables.lazy_bind, lazy=True))
        return ((each.name, each.ordinal, each.weak) for each in external_symbols(self) if not each.is_defined)

    def _opcodes(self, place: tuple[int, int] | None, *, lazy: bool = False) -> Iterator[_Bound]:
        if place is None or not place[1]:
            return
        data = self.piece(*place, "the bind opcodes")
        try:
            yield from bound_symbols(data, lazy=lazy)
        except DamagedTableError as error:
            raise self.corrupt(f"bind opcodes: {error}") from None

    def _import(self, raw: bytes, ordinal: int, weak: bool) -> MachoImport:
        if not self.is_two_level:
            return MachoImport(decoded(raw), LookupScope.FLAT, None, weak)
        if ordinal in _SCOPES:
            return MachoImport(decoded(raw), _SCOPES[ordinal], None, weak)
        library = self._library(ordinal)
        if library is None:
            raise self.corrupt(f"an import from library {ordinal}, of {len(self.libraries)}")
        return MachoImport(decoded(raw), LookupScope.LIBRARY, library, weak)

    def _library(self, ordinal: int) -> str | None:
        return self.libraries[ordinal - 1].name if 0 < ordinal <= len(self.libraries) else None

    # --- exports ----------------------------------------------------------------------------------------------------

    @cached_property
    def _exports(self) -> dict[str, MachoExport]:
        place = self._tables.exports
        found: Iterable[MachoExport]
        if place is not None:
            data = self.piece(*place, "the export trie")
            found = self._of_trie(data)
        else:
            found = self._of_symbols()
        exports: dict[str, MachoExport] = {}
        for each in found:
            exports.setdefault(each.name, each)
        return exports

    def _of_trie(self, data: bytes) -> Iterator[MachoExport]:
        is_code = self.is_code
        try:
            for each in read_trie(data):
                name = decoded(each.name)
                if each.is_reexport:
                    yield MachoExport(name, 0, each.weak, each.thread_local, False, is_reexport=True)
                else:
                    code = not each.absolute and is_code(each.address)
                    yield MachoExport(name, each.address, each.weak, each.thread_local, code)
        except DamagedTableError as error:
            raise self.corrupt(f"export trie: {error}") from None

    def _of_symbols(self) -> Iterator[MachoExport]:
        for each in external_symbols(self):
            if each.is_defined:
                address = each.address if each.absolute else each.address - self.base_address
                code = not each.absolute and self.is_code(address)
                yield MachoExport(decoded(each.name), address, each.weak, False, code)

    @property
    def exported_names(self) -> Collection[str]:
        """The names of all exports, in their order."""
        return self._exports.keys()

    def exports_name(self, name: str) -> bool:
        """Whether it exports a name, re-exported symbols included; those of re-exported libraries are not."""
        return name in self._exports

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """The names that it exports (see `exports_name`)."""
        return frozenset(filter(self._exports.__contains__, names))

    def exports(self) -> Iterator[MachoExport]:
        """Every export, in the order of the export trie."""
        return iter(self._exports.values())

    def read_only_strings(self, part: bytes, gap: int | None) -> Iterator[bytes]:
        """The strings of its read-only data that contain these bytes, within the search limit."""
        return self.strings_with(part, self.read_only_places(), gap)


def read_macho(data: bytes | mmap.mmap | Sparse, display: str, machine: str | None = None) -> MachoFile:
    """A Mach-O file in memory or mapped.

    Args:
        display: its name in messages.
        machine: the slice to read of a universal file; see `MachoImage`.

    Raises:
        UnreadableFile: see `MachoImage`.
    """
    return MachoFile(complete(data), display, machine=machine)
