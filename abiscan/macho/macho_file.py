"""An open Mach-O file, or one slice of a universal file: the facade of this room."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Final

from abiscan.file_buffer import complete, decoded
from abiscan.macho.dyld_data import (
    ABSOLUTE,
    KIND,
    REEXPORT,
    THREAD_LOCAL,
    WEAK,
    DamagedTableError,
    bound_symbols,
    chained_imports,
    read_trie,
)
from abiscan.macho.load_commands import DyldTables, dyld_tables, install_name, linked_libraries, uuid
from abiscan.macho.macho_image import MachoImage
from abiscan.macho.symbol_list import external_symbols
from abiscan.model.limits import MAX_IMPORTS
from abiscan.model.macho_facts import LinkedLibrary, MachoExport, MachoImport

if TYPE_CHECKING:
    import mmap

    from abiscan.file_buffer import Sparse

_MH_TWOLEVEL: Final = 0x80
# BIND_SPECIAL_DYLIB_...: this image, the executable, every image, every image with strong definitions first.
_NO_LIBRARY: Final = (0, -1, -2, -3)
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
        library = None
        if self.flags & _MH_TWOLEVEL and ordinal not in _NO_LIBRARY:
            if not 0 < ordinal <= len(self.libraries):
                raise self.corrupt(f"an import from library {ordinal}, of {len(self.libraries)}")
            library = self.libraries[ordinal - 1].name
        return MachoImport(decoded(raw), library, weak)

    # --- exports ----------------------------------------------------------------------------------------------------

    @cached_property
    def exports(self) -> dict[str, MachoExport]:
        """Every export by its name, in the order of the export trie, re-exported symbols included; those of
        re-exported libraries are not."""
        place = self._tables.exports
        found = self._of_symbols() if place is None else self._of_trie(self.piece(*place, "the export trie"))
        exports: dict[str, MachoExport] = {}
        for each in found:
            exports.setdefault(each.name, each)
        return exports

    def _of_trie(self, data: bytes) -> Iterator[MachoExport]:
        try:
            for name, flags, address in read_trie(data):
                is_reexport, kind = bool(flags & REEXPORT), flags & KIND
                code = not is_reexport and kind != ABSOLUTE and self.is_code(address)
                at = 0 if is_reexport else address
                yield MachoExport(decoded(name), at, bool(flags & WEAK), kind == THREAD_LOCAL, code, is_reexport)
        except DamagedTableError as error:
            raise self.corrupt(f"export trie: {error}") from None

    def _of_symbols(self) -> Iterator[MachoExport]:
        for each in external_symbols(self):
            if each.is_defined:
                address = each.address if each.absolute else each.address - self.base_address
                code = not each.absolute and self.is_code(address)
                yield MachoExport(decoded(each.name), address, each.weak, False, code)


def read_macho(data: bytes | mmap.mmap | Sparse, display: str, machine: str | None = None) -> MachoFile:
    """A Mach-O file in memory or mapped.

    Args:
        display: its name in messages.
        machine: the slice to read of a universal file; see `MachoImage`.

    Raises:
        UnreadableFile: see `MachoImage`.
    """
    return MachoFile(complete(data), display, machine=machine)
