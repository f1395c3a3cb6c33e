"""Adapter from a PE file to the `Binary` protocol."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from abiscan.binary.symbols_only import SymbolsOnly
from abiscan.model.facts import Export, FileFormat, SymbolBinding, SymbolType, Visibility
from abiscan.model.platforms import OperatingSystem, key_of
from abiscan.pe.pe_file import PeFile

if TYPE_CHECKING:
    from abiscan.model.pe_facts import PeExport


class PeBinary(SymbolsOnly):
    """A Windows library.

    Attributes:
        pe: the file itself, with facts that `Binary` lacks: forwarders, ordinals, delayed imports.
    """

    def __init__(self, pe: PeFile) -> None:
        super().__init__(pe, pe.size, key_of(OperatingSystem.WINDOWS, pe.machine))
        self.pe = pe
        self.reexported: tuple[str, ...] = ()

    @property
    def soname(self) -> str | None:
        """Its name in the export table."""
        return self.pe.export_table.name

    @cached_property
    def needed(self) -> tuple[str, ...]:
        """The DLLs of its import table, without those that are loaded on the first call."""
        return self.pe.libraries

    def _imported(self) -> Iterator[tuple[str, str | None, bool]]:
        # A delayed import may stay unresolved, like a weak symbol.
        return ((each.symbol, each.library, each.delayed) for each in self.pe.imports)

    def _format_facts(self) -> tuple[int, str | None, FileFormat]:
        return self.pe.bits, self.pe.debug_id, FileFormat.PE

    def exports_name(self, name: str) -> bool:
        """Whether it exports a name or an ordinal (`#12`), forwarders included."""
        ordinal, table = _ordinal(name), self.pe.export_table
        return name in table.names if ordinal is None else table.has_ordinal(ordinal)

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """The names and ordinals that it exports, including forwarders."""
        return frozenset(filter(self.exports_name, names))

    def exports(self) -> Iterator[Export]:
        """Every export that has a name, in table order."""
        return (_export(each, each.name) for each in self.pe.export_table.rows() if each.name is not None)

    def _exported_names(self) -> Iterable[str]:
        return self.pe.export_table.names


def _ordinal(name: str) -> int | None:
    """12 for `#12`, the name of an import by ordinal; None for other names."""
    return int(name[1:]) if name.startswith("#") and name[1:].isdecimal() and len(name) < 8 else None


def _export(found: PeExport, name: str) -> Export:
    kind = SymbolType.NOTYPE if found.forwarder else SymbolType.FUNC if found.is_code else SymbolType.OBJECT
    return Export(name, SymbolBinding.GLOBAL, kind, Visibility.DEFAULT, found.address, 0, None, False)
