"""Adapter from a Mach-O file to the `Binary` protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from abiscan.binary.symbols_only import SymbolsOnly
from abiscan.macho.macho_file import MachoFile, read_macho
from abiscan.model.facts import Export, FileFormat, SymbolBinding, SymbolType, Visibility
from abiscan.model.macho_facts import LibraryLink, linker_name, source_name
from abiscan.model.platforms import OperatingSystem, key_of

if TYPE_CHECKING:
    from abiscan.model.macho_facts import MachoExport


class MachoBinary(SymbolsOnly):
    """A macOS library or bundle. Names are those of the source, without the underscore of the symbol table
    (`macho_facts.source_name`).

    Attributes:
        macho: the file itself, with facts that `Binary` lacks: kinds of links, re-exports, slices.
    """

    def __init__(self, macho: MachoFile) -> None:
        super().__init__(macho, macho.slice_size, _key(macho.machine))
        self.macho = macho

    @property
    def parts(self) -> tuple[str, ...]:
        """The platforms of the slices of a universal file; empty for a thin file."""
        slices = self.macho.slices
        return tuple(dict.fromkeys(_key(each.machine) for each in slices)) if len(slices) > 1 else ()

    def part(self, machine: str) -> MachoBinary:
        """The slice for a platform of `parts`.

        Raises:
            UnreadableFile: it is damaged.
        """
        name = next(each.machine for each in self.macho.slices if _key(each.machine) == machine)
        return MachoBinary(read_macho(self.macho.buffer, self.path, name))

    @property
    def soname(self) -> str | None:
        """Its install name."""
        return self.macho.install_name

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The install names of the libraries that it requires to load."""
        return tuple(each.name for each in self.macho.libraries if each.link is not LibraryLink.WEAK)

    @cached_property
    def reexported(self) -> tuple[str, ...]:
        """The install names of the libraries whose exports count as its own."""
        return tuple(each.name for each in self.macho.libraries if each.link is LibraryLink.REEXPORT)

    def _imported(self) -> Iterator[tuple[str, str | None, bool]]:
        return ((source_name(each.name), each.library, each.weak) for each in self.macho.imports)

    def _format_facts(self) -> tuple[int, str | None, FileFormat]:
        return self.macho.bits, self.macho.uuid, FileFormat.MACHO

    def exports_name(self, name: str) -> bool:
        """Whether it exports a name, including re-exported symbols."""
        return linker_name(name) in self.macho.exports

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """The names for which `exports_name` is true."""
        return frozenset(filter(self.exports_name, names))

    def exports(self) -> Iterator[Export]:
        """Every export, in the order of the export trie."""
        return map(_export, self.macho.exports.values())

    def _exported_names(self) -> Iterable[str]:
        return map(source_name, self.macho.exports)


def _key(slice_machine: str) -> str:
    # arm64e is arm64 with pointer authentication: one loader loads both.
    return key_of(OperatingSystem.MACOS, slice_machine.removesuffix("e"))


def _export(found: MachoExport) -> Export:
    kind = SymbolType.FUNC if found.is_code else SymbolType.OBJECT
    if found.thread_local:
        kind = SymbolType.TLS
    elif found.is_reexport:
        kind = SymbolType.NOTYPE
    binding = SymbolBinding.WEAK if found.weak else SymbolBinding.GLOBAL
    name = source_name(found.name)
    return Export(name, binding, kind, Visibility.DEFAULT, found.address, 0, None, False)
