"""Sizes of records, from debug information: DW_AT_byte_size of the classes in the compiled sources (DWARF 5, section
5.7)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Literal, Self

from abiscan.elf.abbreviations import BYTE_SIZE, DECLARATION, SPECIFICATION, DebugEntry
from abiscan.elf.debug_entries import SECTIONS, EntryWalk
from abiscan.elf.debug_sections import debug_sections
from abiscan.elf.dynamic_file import DynamicFile
from abiscan.model.limits import MAX_DEBUG

_CLASS, _STRUCTURE, _UNION, NAMESPACE = 0x02, 0x13, 0x17, 0x39
RECORDS = frozenset({_CLASS, _STRUCTURE, _UNION})


def record_sizes(elf: DynamicFile, wanted: Collection[str]) -> dict[str, int]:
    """Size in bytes of the wanted records (qualified names) for which all debug information agrees.

    Damaged or too large debug information yields what was read before.
    """
    walk = RecordWalk.of(elf, wanted)
    return {name: sizes[0] for name, sizes in walk.sizes.items() if len(sizes) == 1} if walk is not None else {}


class RecordWalk(EntryWalk):
    """A walk over records, and the namespaces and records that contain them.

    Attributes:
        sizes: distinct sizes of each wanted record, at most two.
        declared: wanted records of the unit, by offset.

    Args:
        data, order: as for `EntryWalk`.
        wanted: qualified names of records.
    """

    looked_at = RECORDS | {NAMESPACE}

    def __init__(self, data: list[memoryview], order: Literal["little", "big"], wanted: Collection[str]) -> None:
        super().__init__(data, order)
        self._wanted = frozenset(wanted)
        self._scopes = frozenset(_enclosing_scopes(wanted))
        self.sizes: dict[str, list[int]] = {}
        self.declared: dict[int, str] = {}

    @classmethod
    def of(cls, elf: DynamicFile, wanted: Collection[str], foreign: tuple[str, ...] = ()) -> Self | None:
        """Walk over a file's entries; None if it has none that can be read.

        Args:
            foreign: passed to `prepare`.
        """
        data = debug_sections(elf, SECTIONS, MAX_DEBUG)
        if data is None or not data[0]:
            return None
        walk = cls(data, "little" if elf.image.little_endian else "big", wanted)
        walk.prepare(foreign)
        walk.run()
        return walk

    def prepare(self, foreign: tuple[str, ...]) -> None:
        """Hook that runs before the walk."""

    def visit(
        self, entry: DebugEntry, place: int, outer: str, text: str, values: dict[int, tuple[int, int]]
    ) -> str | None:
        if not text:
            return None
        name = self.declared.get(values.get(SPECIFICATION, (0, 0))[1], f"{outer}::{text}" if outer else text)
        if entry.tag in RECORDS and name in self._wanted:
            self.declared[place] = name
            self._note(name, values)
        return name if name in self._scopes else None

    def end_unit(self, signature: tuple[int, int] | None) -> None:
        self.declared.clear()

    def _note(self, record: str, values: dict[int, tuple[int, int]]) -> None:
        """Keep its size, if this is the definition."""
        if BYTE_SIZE in values and DECLARATION not in values:
            sizes = self.sizes.setdefault(record, [])
            if values[BYTE_SIZE][1] not in sizes and len(sizes) < 2:
                sizes.append(values[BYTE_SIZE][1])


def _enclosing_scopes(names: Iterable[str]) -> Iterator[str]:
    """The enclosing scopes: "c10" and "c10::impl" for c10::impl::OperatorEntry."""
    for name in names:
        at = name.find("::")
        while at >= 0 and "<" not in name[:at]:
            yield name[:at]
            at = name.find("::", at + 1)
