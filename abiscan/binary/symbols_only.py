"""Default results of `Binary` for formats of which only symbols and headers are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Collection, Container, Iterable, Iterator
from functools import cached_property
from itertools import takewhile
from typing import TYPE_CHECKING

from abiscan.model.facts import BuildMarks

if TYPE_CHECKING:
    from abiscan.model.facts import CallSite, DerivedClass, Export, VtableWord


class SymbolsOnly(ABC):
    """A binary whose code, classes and debug information are not read."""

    @abstractmethod
    def _exported_names(self) -> Iterable[str]:
        """The names of all exports."""

    @cached_property
    def _sorted_names(self) -> list[str]:
        return sorted(self._exported_names())

    def names_with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Exported names that start with `prefix`, sorted, at most `limit`."""
        names = self._sorted_names
        first = bisect_left(names, prefix)
        return tuple(takewhile(lambda name: name.startswith(prefix), names[first : first + limit]))

    def is_bound_when_called(self, symbols: Container[int]) -> bool:
        """Always false: unknown."""
        return False

    def vtables(self, tables: Iterable[Export]) -> dict[str, tuple[VtableWord, ...]]:
        """Always empty: not read."""
        return {}

    def derived_classes(self, bases: Collection[str] | None = None) -> tuple[DerivedClass, ...]:
        """Always empty: not read."""
        return ()

    def call_sites(self, names: Collection[str], *, lines: bool = False) -> dict[str, tuple[CallSite, ...]]:
        """Always empty: not read."""
        return {}

    def bound_functions(self) -> tuple[str, ...]:
        """Always empty: not read."""
        return ()

    def call_constants(self, names: Collection[str], position: int) -> dict[str, tuple[tuple[int | None, ...], ...]]:
        """Always empty: not read."""
        return {}

    def symbol_names_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """Always empty: not read."""
        return iter(())

    def record_sizes(self, wanted: Collection[str]) -> dict[str, int]:
        """Always empty: not read."""
        return {}

    def record_holders(self, wanted: Collection[str], foreign: tuple[str, ...]) -> dict[str, str]:
        """Always empty: not read."""
        return {}

    def build_marks(self) -> BuildMarks:
        """Always empty: not read."""
        return BuildMarks(False, 0, ())

    def lookup_ranges(self) -> list[tuple[int, int]]:
        """Always empty: the whole file is needed."""
        return []
