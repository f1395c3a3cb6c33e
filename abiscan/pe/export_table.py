"""The export table."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

from abiscan.model.limits import MAX_EXPORTS
from abiscan.model.pe_facts import PeExport
from abiscan.pe.pe_image import EXPORTS, SCN_EXECUTE, PeImage

_DIRECTORY = struct.Struct("<IIHHIIIIIII")
# The ordinal table has words of two bytes, so names can refer to no more.
_MAX_FUNCTIONS: Final = 1 << 16


class ExportTable:
    """The export table; empty if the file has none.

    Raises:
        UnreadableFile: one of its tables lies outside of the file.
    """

    def __init__(self, image: PeImage) -> None:
        self._image = image
        self._start, size = image.directories[EXPORTS]
        self._end = self._start + size
        self.name: str | None = None
        self._base = 0
        self._functions: Sequence[int] = ()
        self._name_addresses: Sequence[int] = ()
        self._places: Sequence[int] = ()
        if not self._start:
            return
        raw = image.at_address(self._start, _DIRECTORY.size, "the export table")
        _, _, _, _, name, self._base, functions, names, *tables = _DIRECTORY.unpack(raw)
        self.name = image.text_at(name, "the name in the export table") if name else None
        if functions > _MAX_FUNCTIONS or names > MAX_EXPORTS:
            raise image.corrupt(f"an export table of {functions} addresses and {names} names")
        self._functions = self._words(tables[0], functions, "I")
        self._name_addresses = self._words(tables[1], names, "I")
        self._places = self._words(tables[2], names, "H")

    def _words(self, address: int, count: int, code: str) -> Sequence[int]:
        if not count:
            return ()
        what = "the export table"
        offset, end = self._image.extent_of(address, what)
        if offset + count * struct.calcsize(f"={code}") > end:
            raise self._image.corrupt(f"{what} ends outside of its section")
        return self._image.words(offset, count, "H" if code == "H" else "I", what)

    @cached_property
    def names(self) -> dict[str, int]:
        """Exported name -> index in the address table, in the order of the name table.

        Raises:
            UnreadableFile: the names have more than MAX_NAMES bytes together.
        """
        found: dict[str, int] = {}
        for name, place in zip(self._image.texts_at(self._name_addresses), self._places, strict=True):
            if name is not None and place < len(self._functions) and self._functions[place]:
                found.setdefault(name, place)
        return found

    def has_ordinal(self, ordinal: int) -> bool:
        """Whether it exports an ordinal."""
        place = ordinal - self._base
        return 0 <= place < len(self._functions) and self._functions[place] != 0

    def rows(self) -> Iterator[PeExport]:
        """Every export: those with names in the order of the name table, then those without."""
        for name, place in self.names.items():
            yield self._export(name, place)
        named = set(self.names.values())
        for place, address in enumerate(self._functions):
            if address and place not in named:
                yield self._export(None, place)

    def _export(self, name: str | None, place: int) -> PeExport:
        address = self._functions[place]
        # An address within the table itself is that of a forwarder text (Export Address Table).
        if self._start <= address < self._end:
            forwarder = self._image.text_at(address, "a forwarder of the export table")
            return PeExport(name, self._base + place, 0, False, forwarder)
        section = self._image.section_at(address)
        is_code = section is not None and bool(section.flags & SCN_EXECUTE)
        return PeExport(name, self._base + place, address, is_code)
