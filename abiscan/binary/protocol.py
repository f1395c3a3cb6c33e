"""What the stages above ask of an open binary."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import mmap

    from abiscan.model.device_code import DeviceImages
    from abiscan.model.facts import BuildMarks, CallSite, DerivedClass, Export, Import, SharedObject, VtableWord


class PayloadFinder(Protocol):
    """Tells of a file that comes from front to back which of its bytes nobody will ask for.

    Attributes:
        left_out: (start, end) of what was left out so far, sorted.
        skip: what lies before this offset need not be shown any more.
    """

    left_out: list[tuple[int, int]]
    skip: int

    def look(self, block: bytes, at: int) -> tuple[list[tuple[int, int]], int]:
        """(start, end) of what is to be kept of `block`, which stands at offset `at`; and the offset from which on it
        must be shown again, with what follows."""
        ...


class Binary(Protocol):
    """A shared object or executable, open. Names are as the linker has them (mangled), decoded as UTF-8 with
    `surrogateescape`; every method may raise UnreadableFile, where a table that it reads lies outside of the file.
    """

    @property
    def path(self) -> str:
        """As the user would write it."""
        ...

    @property
    def size(self) -> int:
        """In bytes."""
        ...

    @property
    def buffer(self) -> bytes | mmap.mmap:
        """The whole file."""
        ...

    def sha256(self) -> str:
        """Of the whole file, in hexadecimal digits."""
        ...

    @property
    def machine(self) -> str:
        """`x86_64`, `aarch64`, ..., as `uname -m` has it."""
        ...

    @property
    def soname(self) -> str | None:
        """What the library calls itself."""
        ...

    @property
    def needed(self) -> tuple[str, ...]:
        """The libraries that it asks for, in order."""
        ...

    @property
    def reexported(self) -> tuple[str, ...]:
        """The libraries whose exports count as its own (macOS)."""
        ...

    @property
    def imports(self) -> tuple[Import, ...]:
        """What it takes from other libraries, in table order."""
        ...

    @property
    def version_definitions(self) -> tuple[str, ...]:
        """The symbol versions that it defines (`GLIBCXX_3.4.30`)."""
        ...

    def facts(self) -> SharedObject:
        """Everything that is read of every file, as a value."""
        ...

    def exports_name(self, name: str) -> bool:
        """Whether it exports a name, in any version."""
        ...

    def exported_among(self, names: tuple[str, ...]) -> frozenset[str]:
        """Those of the names that it exports, in any version. Asking several files for the same names costs little."""
        ...

    def export(self, name: str) -> Export | None:
        """The export of this name, the default version first."""
        ...

    def exports(self) -> Iterator[Export]:
        """Every export, in table order; slow for a large library."""
        ...

    def is_bound_when_called(self, symbols: Container[int]) -> bool:
        """Whether these imports (by `index`) are looked up when they are called, where the file is opened lazily."""
        ...

    def names_with_prefix(self, prefix: str, limit: int = 1000) -> tuple[str, ...]:
        """Exported names that start with `prefix`, sorted, at most `limit`."""
        ...

    def vtables(self, tables: Iterable[Export]) -> dict[str, tuple[VtableWord, ...]]:
        """The words of each exported vtable, by its name."""
        ...

    def derived_classes(self, bases: Collection[str] | None = None) -> tuple[DerivedClass, ...]:
        """Its classes with a base of another library, sorted.

        Args:
            bases: names of the type information that counts (default: all that is imported).
        """
        ...

    def call_sites(self, names: Collection[str], *, lines: bool = False) -> dict[str, tuple[CallSite, ...]]:
        """Where its code uses each of these imports, in address order; names without a site are left out.

        Args:
            lines: look for source lines in debug information, too.
        """
        ...

    def call_constants(self, names: Collection[str], position: int) -> dict[str, tuple[tuple[int | None, ...], ...]]:
        """What its code passes to each of these imports at each place where it is used, in address order: the low four
        bytes of one argument; None for a byte of which the code before the call does not tell. Where there are more
        places than are looked at, one follows of which nothing is known.

        Args:
            position: of the argument among those in integer registers, from 0 on.
        """
        ...

    def device_images(self) -> DeviceImages:
        """Its code for GPUs, from the headers of the embedded images."""
        ...

    def strings_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """The strings of its read-only data that contain these bytes, as far as it is searched.

        Args:
            gap: bytes behind one of them after which the next of the same section is given up.
        """
        ...

    def symbol_names_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """The names of its static symbols that contain these bytes, as far as they are searched; none in a stripped
        file."""
        ...

    def record_sizes(self, wanted: Collection[str]) -> dict[str, int]:
        """Size in bytes of those of the records (qualified names) that its debug information has, as far as it is
        read."""
        ...

    def record_holders(self, wanted: Collection[str], foreign: tuple[str, ...]) -> dict[str, str]:
        """Those of the records that a class of the file's own holds by value -> that class, as far as its debug
        information tells and is read.

        Args:
            foreign: beginnings of the names of classes that are not its own.
        """
        ...

    def build_marks(self) -> BuildMarks:
        """Marks of how it was built: its stack, its CPU, its compilers."""
        ...

    def lookup_ranges(self) -> list[tuple[int, int]]:
        """(offset, size) of the parts that facts and lookups by name read: a copy with only these serves for them."""
        ...
