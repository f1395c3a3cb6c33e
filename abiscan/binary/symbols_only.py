"""Default results of `Binary` for formats of which only symbols and headers are read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Collection, Container, Iterable, Iterator
from functools import cached_property
from hashlib import sha256
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from abiscan.model.device_code import DeviceImages
from abiscan.model.facts import BuildMarks, FileFormat, Import, SharedObject, SymbolBinding, SymbolType, Visibility

if TYPE_CHECKING:
    import mmap

    from abiscan.macho.macho_file import MachoFile
    from abiscan.pe.pe_file import PeFile


class SymbolsOnly(ABC):
    """A binary whose code, classes and debug information are not read.

    Args:
        file: the file as its format has it.
        size: in bytes; machine: key of its platform.
    """

    def __init__(self, file: PeFile | MachoFile, size: int, machine: str) -> None:
        self._file = file
        self.path = file.path
        self.size = size
        self.machine = machine
        self.version_definitions: tuple[str, ...] = ()

    @property
    def buffer(self) -> bytes | mmap.mmap:
        """The whole file."""
        return self._file.buffer

    def sha256(self) -> str:
        """SHA-256 of the whole file, in hexadecimal."""
        return sha256(self.buffer).hexdigest()

    @property
    @abstractmethod
    def soname(self) -> str | None:
        """Its own name."""

    @property
    @abstractmethod
    def needed(self) -> tuple[str, ...]:
        """The names of the libraries that it requires to load."""

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """The symbols that the loader looks up."""
        return tuple(
            Import(
                name=name,
                binding=SymbolBinding.WEAK if may_stay_unbound else SymbolBinding.GLOBAL,
                type=SymbolType.NOTYPE,
                visibility=Visibility.DEFAULT,
                version=None,
                relocated=True,
                index=index,
                library=library,
            )
            for index, (name, library, may_stay_unbound) in enumerate(self._imported())
        )

    @abstractmethod
    def _imported(self) -> Iterator[tuple[str, str | None, bool]]:
        """Name, library and whether it may stay unresolved, of each import."""

    def facts(self) -> SharedObject:
        """The facts that files of every format have; those of the file itself have the rest."""
        bits, build_id, form = self._format_facts()
        return SharedObject(
            path=self.path,
            size=self.size,
            machine=self.machine,
            bits=bits,
            soname=self.soname,
            needed=self.needed,
            # LC_RPATH of macOS is no run path of ELF.
            rpath=None,
            runpath=None,
            build_id=build_id,
            imports=self.imports,
            version_needs=(),
            version_definitions=(),
            compilers=(),
            format=form,
        )

    @abstractmethod
    def _format_facts(self) -> tuple[int, str | None, FileFormat]:
        """Bits of an address, identifier of the build, format."""

    def strings_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """The strings of its read-only data that contain these bytes, within the search limits."""
        return self._file.strings_with(part, self._file.read_only_places(), gap)

    def device_images(self) -> DeviceImages:
        """Always empty: not read."""
        return DeviceImages()

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

    def build_marks(self) -> BuildMarks:
        """Always empty: not read."""
        return BuildMarks(False, 0, ())

    def symbol_names_with(self, part: bytes, gap: int) -> Iterator[bytes]:
        """Always empty: not read."""
        return iter(())

    def lookup_ranges(self) -> list[tuple[int, int]]:
        """Always empty: the whole file is needed."""
        return []

    def _no_rows(self, *_arguments: object, **_options: object) -> dict[str, Any]:
        """Always empty: neither code nor tables of virtual functions nor debug information are read."""
        return {}

    vtables = call_sites = call_constants = record_sizes = record_holders = _no_rows

    def _nothing(self, bases: Collection[str] | None = None) -> tuple[Any, ...]:
        """Always empty: not read."""
        return ()

    derived_classes = bound_functions = _nothing
