"""An open ELF file with all of its analyses: the facade of this room.

Few files need them, so each is a module of its own that is imported on use.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from abiscan.elf.dynamic_file import DynamicFile
from abiscan.elf.sections import section
from abiscan.model.limits import MAX_SITES

if TYPE_CHECKING:
    from abiscan.model.device_code import DeviceImages
    from abiscan.model.facts import BuildMarks, CallSite, DerivedClass, Export, VtableWord


class ElfFile(DynamicFile):
    """A `binary.Binary`: `DynamicFile` with analyses of code, data and debug information."""

    def vtables(self, tables: Iterable[Export]) -> dict[str, tuple[VtableWord, ...]]:
        """See `vtables.read_vtables`."""
        from abiscan.elf.vtables import read_vtables

        return read_vtables(self, tables)

    def derived_classes(self, bases: Collection[str] | None = None) -> tuple[DerivedClass, ...]:
        """See `typeinfo.derived_classes`."""
        from abiscan.elf.typeinfo import derived_classes

        return derived_classes(self, bases)

    @cached_property
    def _found_too(self) -> dict[str, tuple[CallSite, ...]]:
        return {}

    def call_sites(
        self, names: Collection[str], *, lines: bool = False, most: int = MAX_SITES, also: Collection[str] = ()
    ) -> dict[str, tuple[CallSite, ...]]:
        """See `call_sites.find_call_sites`."""
        from abiscan.elf.call_sites import find_call_sites

        found = find_call_sites(self, names, lines, most, also)
        self._found_too.update((name, found.get(name, ())) for name in also)
        return {name: sites[:most] for name, sites in found.items() if name in names}

    def call_constants(self, names: Collection[str], position: int) -> dict[str, tuple[tuple[int | None, ...], ...]]:
        """See `call_constants.call_constants`."""
        from abiscan.elf.call_constants import call_constants

        known = self._found_too
        return call_constants(self, names, position, known if all(name in known for name in names) else None)

    def bound_functions(self) -> tuple[str, ...]:
        """See `bound_functions.bound_functions`."""
        from abiscan.elf.bound_functions import bound_functions

        return bound_functions(self)

    def device_images(self) -> DeviceImages:
        """See `device_images.device_images`."""
        from abiscan.elf.device_images import device_images

        return device_images(self.image, self.mapped)

    def strings_with(self, part: bytes, gap: int | None = None) -> Iterator[bytes]:
        """See `strings.strings_with`."""
        from abiscan.elf.sections import strings_with

        return strings_with(self.image, part, gap)

    def symbol_names_with(self, part: bytes, gap: int) -> Iterator[bytes]:
        """See `strings.symbol_names_with`."""
        from abiscan.elf.sections import symbol_names_with

        return symbol_names_with(self.image, part, gap)

    @cached_property
    def _has_debug_entries(self) -> bool:
        return section(self.image, b".debug_info") is not None

    def record_sizes(self, wanted: Collection[str]) -> dict[str, int]:
        """See `record_sizes.record_sizes`."""
        if not self._has_debug_entries:
            return {}
        from abiscan.elf.record_sizes import record_sizes

        return record_sizes(self, wanted)

    def record_holders(self, wanted: Collection[str], foreign: tuple[str, ...]) -> dict[str, str]:
        """See `record_holders.record_holders`."""
        if not self._has_debug_entries:
            return {}
        from abiscan.elf.record_holders import record_holders

        return record_holders(self, wanted, foreign)

    def build_marks(self) -> BuildMarks:
        """See `build_marks.build_marks`."""
        from abiscan.elf.build_marks import build_marks

        return build_marks(self.image)

    def lookup_ranges(self) -> list[tuple[int, int]]:
        """See `lookup_ranges.lookup_ranges`."""
        from abiscan.elf.lookup_ranges import lookup_ranges

        return lookup_ranges(self)
