"""What `Binary` asks of code and debug information, for formats of which only symbols and headers are read."""

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
    """Nothing is known of the code, the classes and the debug information of the file."""

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
        """Not known."""
        return False

    def vtables(self, tables: Iterable[Export]) -> dict[str, tuple[VtableWord, ...]]:
        """None is read."""
        return {}

    def derived_classes(self, bases: Collection[str] | None = None) -> tuple[DerivedClass, ...]:
        """None is read."""
        return ()

    def call_sites(self, names: Collection[str], *, lines: bool = False) -> dict[str, tuple[CallSite, ...]]:
        """None is read."""
        return {}

    def call_constants(self, names: Collection[str], position: int) -> dict[str, tuple[tuple[int | None, ...], ...]]:
        """None is read."""
        return {}

    def symbol_names_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """None is read."""
        return iter(())

    def record_sizes(self, wanted: Collection[str]) -> dict[str, int]:
        """None is read."""
        return {}

    def record_holders(self, wanted: Collection[str], foreign: tuple[str, ...]) -> dict[str, str]:
        """None is read."""
        return {}

    def build_marks(self) -> BuildMarks:
        """None is read."""
        return BuildMarks(False, 0, ())

    def lookup_ranges(self) -> list[tuple[int, int]]:
        """None: the whole file is needed."""
        return []
