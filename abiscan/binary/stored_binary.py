"""A binary that was read before: the facts that checks against releases need, as a value that can be stored.

A registry is checked again for each torch release, although its files have not changed. Results of the `Binary`
protocol are stored, not verdicts, so that the same code checks stored files and files.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn

from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_SITES

if TYPE_CHECKING:
    from abiscan.binary.stored_values import StoredFile
    from abiscan.model.device_code import DeviceImages
    from abiscan.model.facts import BuildMarks, CallSite, DerivedClass, Export, Import, SharedObject, VtableWord


class StoredBinary:
    """A stored file behind the `Binary` protocol; methods whose results were not stored raise UnreadableFile."""

    def __init__(self, stored: StoredFile) -> None:
        self._stored = stored
        self.path = stored.facts.path
        self.size = stored.facts.size
        self.machine = stored.facts.machine
        self.soname = stored.facts.soname
        self.needed = stored.facts.needed
        # Names of re-exported libraries are looked up in every file of the package.
        self.reexported: tuple[str, ...] = ()
        self.version_definitions = stored.facts.version_definitions
        self.problem = stored.problem
        self.operators = stored.operators
        self.calls = stored.calls

    def _not_stored(self, what: str) -> NoReturn:
        raise UnreadableFile(self.path, f"{what} is not among its stored facts: scan the file itself")

    @property
    def buffer(self) -> bytes:
        """Not stored."""
        self._not_stored("its contents")

    def sha256(self) -> str:
        """Not stored."""
        self._not_stored("its SHA-256")

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """As read from the file."""
        return self._stored.imports.rows()

    def facts(self) -> SharedObject:
        """As read from the file."""
        from msgspec.structs import replace

        return replace(self._stored.facts, imports=self.imports)

    @cached_property
    def _exported(self) -> frozenset[str]:
        return frozenset(self._stored.exported)

    def exports_name(self, name: str) -> bool:
        """Whether it exports a name that some file of its package imports."""
        return name in self._exported

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """The names that it exports and some file of its package imports."""
        return self._exported.intersection(names)

    def exports(self) -> Iterator[Export]:
        """Not stored."""
        self._not_stored("its exports")

    def is_bound_when_called(self, symbols: Container[int]) -> bool:
        """Always false: relocations are not stored."""
        return False

    def names_with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Only the prefix itself, if it exports names with that prefix."""
        return (prefix,) if prefix in self._stored.prefixes else ()

    def vtables(self, tables: Iterable[Export]) -> dict[str, tuple[VtableWord, ...]]:
        """Not stored."""
        self._not_stored("a vtable")

    def derived_classes(self, bases: Collection[str] | None = None) -> tuple[DerivedClass, ...]:
        """Its classes with a base class in another library."""
        return tuple(each for each in self._stored.derived if bases is None or each.base in bases)

    def call_sites(
        self, names: Collection[str], *, lines: bool = False, most: int = MAX_SITES, also: Collection[str] = ()
    ) -> dict[str, tuple[CallSite, ...]]:
        """The call sites of torch imports, without source lines."""
        return {name: places[:most] for name, places in self._stored.sites.items() if name in names}

    def bound_functions(self) -> tuple[str, ...]:
        """As read from the file."""
        return self._stored.bound

    def call_constants(self, names: Collection[str], position: int) -> dict[str, tuple[tuple[int | None, ...], ...]]:
        """The constants of the imports and the argument that are checked in every file."""
        return {name: words for name, words in self._stored.constants.items() if name in names}

    def device_images(self) -> DeviceImages:
        """As read from the file."""
        return self._stored.device

    def strings_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """The strings that contain a text which is searched in every file."""
        found = self._stored.strings.get(part.decode("ascii"))
        yield from self._not_stored("a text") if found is None else found

    def symbol_names_with(self, part: bytes, gap: int) -> Iterator[bytes]:
        """Not stored."""
        self._not_stored("a static symbol")

    def record_sizes(self, wanted: Collection[str]) -> dict[str, int]:
        """Sizes of the records that had several layouts when the file was read."""
        return {name: size for name, size in self._stored.record_sizes.items() if name in wanted}

    def record_holders(self, wanted: Collection[str], foreign: tuple[str, ...]) -> dict[str, str]:
        """Holders of the records that had several layouts when the file was read."""
        return {name: holder for name, holder in self._stored.record_holders.items() if name in wanted}

    def build_marks(self) -> BuildMarks:
        """As read from the file."""
        return self._stored.marks

    def lookup_ranges(self) -> list[tuple[int, int]]:
        """Always empty: it has no bytes."""
        return []
