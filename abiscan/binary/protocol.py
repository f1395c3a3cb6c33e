"""The interface of an open binary."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

from abiscan.model.limits import MAX_SITES

if TYPE_CHECKING:
    import mmap

    from abiscan.model.device_code import DeviceImages
    from abiscan.model.facts import BuildMarks, CallSite, DerivedClass, Export, Import, SharedObject, VtableWord


class Binary(Protocol):
    """An open shared object or executable. Names are linker names (mangled), decoded as UTF-8 with `surrogateescape`.
    Every method may raise UnreadableFile if a table that it reads lies outside of the file.
    """

    @property
    def path(self) -> str:
        """The path as given by the user."""
        ...

    @property
    def size(self) -> int:
        """Size in bytes."""
        ...

    @property
    def buffer(self) -> bytes | mmap.mmap:
        """The whole file."""
        ...

    def sha256(self) -> str:
        """SHA-256 of the whole file, in hexadecimal."""
        ...

    @property
    def machine(self) -> str:
        """`x86_64`, `aarch64`, ..., as printed by `uname -m`."""
        ...

    @property
    def soname(self) -> str | None:
        """The name of the library in the file itself."""
        ...

    @property
    def needed(self) -> tuple[str, ...]:
        """The libraries that it requires, in order."""
        ...

    @property
    def reexported(self) -> tuple[str, ...]:
        """The libraries whose exports count as its own (macOS)."""
        ...

    @property
    def imports(self) -> tuple[Import, ...]:
        """Its imports, in table order."""
        ...

    @property
    def version_definitions(self) -> tuple[str, ...]:
        """The symbol versions that it defines (`GLIBCXX_3.4.30`)."""
        ...

    def facts(self) -> SharedObject:
        """All common facts of the file, as a value."""
        ...

    def exports_name(self, name: str) -> bool:
        """Whether it exports a name, in any version."""
        ...

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """The names that it exports, in any version. Searching several files for the same names costs little."""
        ...

    def exports(self) -> Iterator[Export]:
        """Every export, in table order; slow for a large library."""
        ...

    def is_bound_when_called(self, symbols: Container[int]) -> bool:
        """Whether these imports (by `index`) are resolved when they are called, if the file is opened lazily."""
        ...

    def names_with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Exported names that start with `prefix`, sorted, at most `limit`."""
        ...

    def vtables(self, tables: Iterable[Export]) -> dict[str, tuple[VtableWord, ...]]:
        """The words of each exported vtable, by its name."""
        ...

    def derived_classes(self, bases: Collection[str] | None = None) -> tuple[DerivedClass, ...]:
        """Its classes with a base class in another library, sorted.

        Args:
            bases: names of the base type information to consider (default: all imported).
        """
        ...

    def call_sites(
        self, names: Collection[str], *, lines: bool = False, most: int = MAX_SITES, also: Collection[str] = ()
    ) -> dict[str, tuple[CallSite, ...]]:
        """Where its code uses each of these imports, in address order; names without a site are left out.

        Args:
            lines: whether to look up source lines in debug information, too.
            most: maximum number of sites of each import; with few, the search ends when it has them.
            also: imports for `call_constants`, found in the same search of the code and not returned.
        """
        ...

    def bound_functions(self) -> tuple[str, ...]:
        """Names of the functions on tensors that a pybind11 module binds, where its code shows them."""
        ...

    def call_constants(self, names: Collection[str], position: int) -> dict[str, tuple[tuple[int | None, ...], ...]]:
        """The low four bytes of an argument at each use of these imports, in address order; None for a byte that the
        code before the call does not show. If there are more uses than are looked at, one unknown value follows.

        Args:
            position: index of the argument among those in integer registers, from 0.
        """
        ...

    def device_images(self) -> DeviceImages:
        """Its GPU code, from the headers of the embedded images."""
        ...

    def strings_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """The strings of its read-only data that contain these bytes, within the search limits.

        Args:
            gap: maximum number of bytes between two matches in a section, after which the search ends.
        """
        ...

    def symbol_names_with(self, part: bytes, gap: int) -> Iterator[bytes]:
        """The names of its static symbols that contain these bytes, within the search limits; none in a stripped
        file."""
        ...

    def record_sizes(self, wanted: Collection[str]) -> dict[str, int]:
        """Size in bytes of the wanted records (qualified names) in its debug information, within the limits of
        reading."""
        ...

    def record_holders(self, wanted: Collection[str], foreign: tuple[str, ...]) -> dict[str, str]:
        """The wanted records that a class of the file itself contains by value -> that class, from its debug
        information, within the limits of reading.

        Args:
            foreign: name prefixes of classes that are not its own.
        """
        ...

    def build_marks(self) -> BuildMarks:
        """Its build properties: executable stack, required CPU, compilers."""
        ...

    def lookup_ranges(self) -> list[tuple[int, int]]:
        """(offset, size) of the parts that facts and symbol lookups read; a copy with only these suffices for them."""
        ...
