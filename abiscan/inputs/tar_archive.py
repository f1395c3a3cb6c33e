"""A tar archive whose members are artifacts; they can be read by number in any order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from abiscan.errors import UnreadableFile
from abiscan.inputs.artifact import Limits
from abiscan.inputs.byte_source import ByteSource
from abiscan.inputs.cache import KeptFiles
from abiscan.inputs.member_content import MemberContent
from abiscan.inputs.tar_reader import TarReader
from abiscan.inputs.unpacked import Buffer, Unpacked


class TarArchive:
    """A tar archive whose members are unpacked in order; going back starts again from the beginning."""

    def __init__(
        self, source: ByteSource, codec: str | None, display: str, limits: Limits, *, hashes: bool = False
    ) -> None:
        self.source, self.codec, self.display, self.limits = source, codec, display, limits
        self.kept = KeptFiles(limits.kept, hashes=hashes)
        # Files that may be read as the neighbour of a member: name -> number; their bytes once the first is read.
        self.neighbours: dict[str, int] = {}
        self._read: dict[int, bytes] | None = None
        self._reader: TarReader | None = None
        self._members: Iterator[tuple[int, Any]] = iter(())
        self._next = 0

    def __getstate__(self) -> tuple[Any, ...]:
        return (self.source, self.codec, self.display, self.limits), self.neighbours

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.__init__(*state[0])  # type: ignore[misc]
        self.neighbours = state[1]

    def neighbour(self, name: str, limit: int) -> bytes | None:
        """The bytes of a neighbour; None if there is none. All of them are read at the first call, because going back
        starts again from the beginning.

        Raises:
            UnreadableFile: it has more than `limit` bytes, or all of them together have too many.
        """
        number = self.neighbours.get(name)
        if number is None:
            return None
        if self._read is None:
            self._read = dict(self._neighbours(limit))
        if number not in self._read:
            raise UnreadableFile(f"{self.display}!{name}", f"larger than {limit} bytes, or one of too many")
        return self._read[number]

    def _neighbours(self, limit: int) -> Iterator[tuple[int, bytes]]:
        wanted, budget = frozenset(self.neighbours.values()), self.limits.kept
        reader = TarReader(self.source, self.codec, self.display, self.limits)
        for number, member in enumerate(reader):
            if number in wanted and member.size <= min(limit, budget):
                budget -= member.size
                yield number, bytes(reader.rest(member, reader.head(member, 0)))

    def unpack(self, number: int, display: str, into: Unpacked | None = None) -> Buffer:
        """Unpack member `number`, counted from 0 over all entries, into the given destination or to memory."""
        if self._reader is None or number < self._next:
            self._reader = TarReader(self.source, self.codec, self.display, self.limits)
            self._members = enumerate(self._reader)
        for index, member in self._members:
            self._next = index + 1
            if index == number:
                return self._reader.rest(member, self._reader.head(member, 0), into)
        raise UnreadableFile(display, "the archive changed while it was read")

    def content(self, number: int, size: int, name: str) -> MemberContent:
        """Member `number` as an artifact's content. Its neighbours are those of a shared object with another suffix."""
        return MemberContent(self, name, number, number, size)
