"""Disk space for the members of an archive: one unnamed temporary file, in which each member has its place.

It is sparse and does not contain GPU images. Processes that share it read what another one has unpacked: a lock for
each member, released when its holder dies, determines who unpacks it.
"""

from __future__ import annotations

import array
import mmap
import os
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Protocol

from abiscan.binary import Sparse, payload_finder
from abiscan.filesystem import read_at
from abiscan.inputs.unpacked import Buffer, Digest, NoRoom, TemporaryFile, Unpacked, nameless
from abiscan.model.limits import MAX_LEFT_OUT, MAX_ON_DISK

# A record of the second file: whether the member is unpacked, the number of ranges left out, its SHA-256 (zeros if not
# needed), and these ranges.
_DIGEST = 32
_HEAD = 16 + _DIGEST
_RECORD = _HEAD + 16 * MAX_LEFT_OUT
_PAGE = mmap.ALLOCATIONGRANULARITY


def _sha256() -> Digest:
    import hashlib

    return hashlib.sha256()


class Unpack(Protocol):
    """Unpacks a member, into the given destination or to memory; raises UnreadableFile."""

    def __call__(self, into: Unpacked | None = None) -> Buffer: ...


class Scratch:
    """A place for each member that was passed to `allot`, in the same order in each process.

    Args:
        sharers: number of processes that share it; with several, it is created before they are forked.
        hashes: whether to compute the SHA-256 of each member while it is unpacked, because the parts that are left out
            cannot be read later.

    Raises:
        OSError: it is shared, and no temporary file can be created.
    """

    def __init__(self, sharers: int = 1, *, hashes: bool = False) -> None:
        self._hashes = hashes
        self._places: dict[Hashable, tuple[int, int]] = {}
        self._end = 0
        self._there: dict[Hashable, Sparse] = {}
        self._room = MAX_ON_DISK // sharers
        self._descriptor, self._records = (nameless(), nameless()) if sharers > 1 else (-1, -1)

    def allot(self, key: Hashable, size: int) -> None:
        """Reserve a place for a member of `size` bytes."""
        if key not in self._places:
            self._places[key] = len(self._places), self._end
            self._end += -(-size // _PAGE) * _PAGE

    @property
    def has_room(self) -> bool:
        """Whether members have places, and another one may be unpacked to its own."""
        return bool(self._places) and self._room > 0

    def get(self, key: Hashable, size: int, display: str, unpack: Unpack, again: Unpack) -> Sparse | Buffer | None:
        """The member, unpacked if no process has done so; None if there is no space for it.

        Args:
            again: unpacks it once more, when a part that was left out is read.

        Raises:
            UnreadableFile: as `unpack`.
        """
        found = self._there.get(key)
        place = self._places.get(key)
        if found is None and place is not None:
            try:
                if self._descriptor < 0:
                    self._descriptor = nameless()
                with self._alone(place[0]):
                    found = self._read(place, size, display, again)
                    if found is None and self._room > 0:
                        found = self._unpack(place, size, display, unpack, again)
            except (OSError, NoRoom):
                self._room = 0
                return again() if unpack is not again else None
            if found is not None:
                self._there[key] = found
        return found if found is None or found.left_out or found.sha256 is not None else found.buffer

    @contextmanager
    def _alone(self, number: int) -> Iterator[None]:
        """Lock a member against the other processes."""
        if self._records < 0:
            yield
            return
        import fcntl

        fcntl.lockf(self._records, fcntl.LOCK_EX, 1, number)
        try:
            yield
        finally:
            fcntl.lockf(self._records, fcntl.LOCK_UN, 1, number)

    def _read(self, place: tuple[int, int], size: int, display: str, again: Unpack) -> Sparse | None:
        """A member that another process has unpacked."""
        if self._records < 0:
            return None
        at = place[0] * _RECORD
        head = read_at(self._records, _HEAD, at) or bytes(_HEAD)
        there, count = array.array("Q", head[:-_DIGEST])
        if not there:
            return None
        pairs = array.array("Q", read_at(self._records, 16 * count, at + _HEAD))
        buffer = TemporaryFile(size, display, (self._descriptor, place[1])).mapped()
        sha256 = head[-_DIGEST:].hex() if self._hashes else None
        return Sparse(buffer, [*zip(pairs[::2], pairs[1::2], strict=True)], again, sha256)

    def _unpack(self, place: tuple[int, int], size: int, display: str, unpack: Unpack, again: Unpack) -> Sparse:
        file, payloads = TemporaryFile(size, display, (self._descriptor, place[1])), payload_finder(size)
        digest = _sha256() if self._hashes else None
        buffer = unpack(Unpacked(size, display, file, payloads, digest))
        self._room -= file.written
        if self._records >= 0:
            record = array.array("Q", [1, len(payloads.left_out)])
            record.frombytes(bytes(_DIGEST) if digest is None else digest.digest())
            for left_out in payloads.left_out:
                record.extend(left_out)
            os.pwrite(self._records, record.tobytes(), place[0] * _RECORD)
        return Sparse(buffer, payloads.left_out, again, None if digest is None else digest.digest().hex())

    def clear(self) -> None:
        """Release the maps of all members."""
        self._there.clear()

    def rest_all_but(self, key: Hashable) -> None:
        """Release the pages of the other members, which are not used for now: the system may cache them, but they do
        not count as memory of this process."""
        for other, each in self._there.items():
            if other != key and isinstance(each.buffer, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                each.buffer.madvise(mmap.MADV_DONTNEED)

    def __del__(self) -> None:
        for descriptor in (self._descriptor, self._records):
            if descriptor >= 0:
                os.close(descriptor)
