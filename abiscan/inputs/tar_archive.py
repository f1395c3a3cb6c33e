"""Tar archives, plain or compressed: `TarReader` reads one from front to back, which is the only way, and `TarArchive`
its members by number in any order."""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from typing import Any

from abiscan.errors import UnreadableFile
from abiscan.inputs.artifact import Limits
from abiscan.inputs.byte_source import ByteSource
from abiscan.inputs.cache import KeptFiles
from abiscan.inputs.inflate import CHUNK_OUT, stream
from abiscan.inputs.member_content import MemberContent
from abiscan.inputs.unpacked import Buffer, Unpacked
from abiscan.model.limits import MAX_MEMBER_NAMES

# Maximum size of a read by tarfile: headers, and names that take a block or more.
_MAX_HEADER = 1 << 20


class TarReader:
    """One pass over a tar archive.

    Raises (while iterating):
        UnreadableFile: it is damaged, cut off, or exceeds the limits.
    """

    def __init__(self, source: ByteSource, codec: str | None, display: str, limits: Limits) -> None:
        self._display, self._limits = display, limits
        self._forward = _Forward(source, codec, display, limits)

    def __iter__(self) -> Iterator[tarfile.TarInfo]:
        count = names = 0
        try:
            archive = tarfile.TarFile(fileobj=self._forward, mode="r")  # type: ignore[arg-type]
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined] # it would keep them all
                count += 1
                if count > self._limits.members:
                    raise UnreadableFile(
                        self._display, f"an archive of more than {self._limits.members} members: not followed"
                    )
                names += len(member.name) + len(member.linkname)
                if names > MAX_MEMBER_NAMES:
                    raise UnreadableFile(self._display, f"names of more than {MAX_MEMBER_NAMES} bytes: not followed")
                yield member
            self._forward.drain()
        except (tarfile.TarError, ValueError, OverflowError) as error:
            damage = f"damaged tar archive: {error}"
            # Of an empty file, nothing was read.
            if (
                count == 0
                and self._forward.compressed
                and self._forward.tell()
                and isinstance(error, tarfile.ReadError)
            ):
                damage = "compressed, but not a tar archive: decompress it and check the file"
            raise UnreadableFile(self._display, damage) from error

    def head(self, member: tarfile.TarInfo, size: int) -> bytes:
        """The first bytes of the current member; the next call must be `rest`, with these bytes."""
        self._forward.seek(member.offset_data)
        return self._forward.take(min(size, member.size))

    def rest(self, member: tarfile.TarInfo, head: bytes, into: Unpacked | None = None) -> Buffer:
        """The whole member, of which `head` was already read.

        Args:
            into: destination (default: memory, or a file of its own).
        """
        if member.size == 0:
            return b""
        display = f"{self._display}!{member.name}"
        if member.size > self._limits.member:
            raise UnreadableFile(display, "too large to be unpacked")
        unpacked = Unpacked(member.size, display) if into is None else into
        unpacked.append(head)
        while unpacked.length < member.size:
            piece = self._forward.take(min(CHUNK_OUT, member.size - unpacked.length))
            if not piece:
                raise UnreadableFile(display, "truncated: the archive ends inside of it")
            unpacked.append(piece)
        return unpacked.buffer()


class _Forward:
    """The unpacked bytes as a file for tarfile: it reads forward, and goes back by at most one byte."""

    def __init__(self, source: ByteSource, codec: str | None, display: str, limits: Limits) -> None:
        self._source, self._display = source, display
        self._pieces = None if codec is None else stream(source, codec, display, limits)
        self._piece, self._start, self._at = b"", 0, 0

    @property
    def compressed(self) -> bool:
        return self._pieces is not None

    def tell(self) -> int:
        return self._at

    def seek(self, target: int) -> None:
        if self._pieces is None:
            self._at = target
            return
        while target > self._start + len(self._piece) and self._advance():
            pass
        if target < self._start:
            raise tarfile.ReadError("its members overlap")
        self._at = min(target, self._start + len(self._piece))

    def _advance(self) -> bool:
        assert self._pieces is not None
        piece = next(self._pieces, b"")
        # One byte of the previous piece is kept: tarfile reads the last byte of a member before it continues.
        keep = self._piece[-1:]
        self._start += len(self._piece) - len(keep)
        self._piece = keep + piece
        return bool(piece)

    def take(self, size: int) -> bytes:
        """Up to `size` bytes, fewer only at the end."""
        if self._pieces is None:
            data = self._source.read_at(self._at, size)
            self._at += len(data)
            return data
        parts = []
        while size > 0:
            if self._at >= self._start + len(self._piece) and not self._advance():
                break
            inside = self._at - self._start
            part = self._piece[inside : inside + size]
            parts.append(part)
            self._at += len(part)
            size -= len(part)
        return b"".join(parts)

    def drain(self) -> None:
        """Unpack the data after the end of the archive: padding, and the checksum of the stream."""
        while self._pieces is not None and self._advance():
            pass

    def read(self, size: int) -> bytes:
        """Read for tarfile, which reads only headers."""
        if size > _MAX_HEADER:
            raise ValueError(f"a header of {size} bytes")
        return self.take(size)

    def close(self) -> None:
        pass


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
