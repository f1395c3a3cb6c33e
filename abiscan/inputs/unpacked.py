"""Destinations of unpacked members: memory, or an unnamed temporary file, which the system can swap out and which
disappears with the process."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from abiscan.errors import TransientFailure, os_error_words
from abiscan.filesystem import write_at
from abiscan.model.limits import MAX_IN_MEMORY
from abiscan.model.words import size_words

if TYPE_CHECKING:
    from abiscan.binary import Payloads

_LARGE_PAGE = 2 << 20
# Maximum number of bytes of a write.
_WINDOW = 1 << 20
_ZEROS = bytes(_WINDOW)
# IOV_MAX of Linux.
_MOST_PIECES = 1024

Buffer = bytes | mmap.mmap


class Digest(Protocol):
    """A hash that is computed piece by piece, as in `hashlib`."""

    def update(self, piece: bytes, /) -> None:
        """Add bytes."""

    def digest(self) -> bytes:
        """The hash of the bytes so far."""


class NoRoom(TransientFailure):
    """A temporary file cannot be had, or not as long as it would have to be."""


class Unpacked:
    """Destination for `size` bytes that are written piece by piece.

    Args:
        file: the destination; by default memory up to MAX_IN_MEMORY bytes, otherwise a new file.
        payloads: finder of GPU images in the bytes, which are left out of the file.
        digest: receives all bytes (`hashlib`).

    Raises:
        UnreadableFile: there is no space for them.
    """

    def __init__(
        self,
        size: int,
        display: str,
        file: TemporaryFile | None = None,
        payloads: Payloads | None = None,
        digest: Digest | None = None,
    ) -> None:
        self._memory = anonymous(size, display) if file is None and size <= MAX_IN_MEMORY else None
        self._file = file if file is not None or self._memory is not None else TemporaryFile(size, display)
        self._payloads, self._digest = payloads, digest
        self._held = b""
        self.length = 0

    def append(self, piece: bytes) -> None:
        """Write the next bytes.

        Raises:
            UnreadableFile: they do not fit on the disk.
        """
        end = self.length + len(piece)
        if self._digest is not None:
            self._digest.update(piece)
        if self._memory is not None:
            self._memory[self.length : end] = piece
        elif self._payloads is None:
            assert self._file is not None
            self._file.write(piece, self.length)
        elif end > self._payloads.skip:
            self._write_in_part(piece, end)
        self.length = end

    def _write_in_part(self, piece: bytes, end: int) -> None:
        assert self._payloads is not None
        assert self._file is not None
        block = self._held + piece
        at = end - len(block)
        kept, again = self._payloads.look(block, at)
        view = memoryview(block)
        for start, stop in kept:
            self._file.write(view[start - at : stop - at], start)
        self._held = block[again - at :]

    def buffer(self) -> Buffer:
        """All of the bytes.

        Raises:
            UnreadableFile: as `append`.
        """
        if self._memory is not None:
            return self._memory
        assert self._file is not None
        return self._file.mapped()


def nameless() -> int:
    """The descriptor of a new temporary file that is in no directory: nothing remains of it, however the process ends.

    Raises:
        OSError: there is no space, or no directory for it.
    """
    import tempfile

    with tempfile.TemporaryFile(prefix="abiscan-", buffering=0) as file:
        return os.dup(file.fileno())


class TemporaryFile:
    """A file of `size` bytes in no directory.

    It is written and not mapped for writing: a full disk is an error for a write and a signal for a map.

    Args:
        place: (descriptor, offset) in a file that contains others, too.

    Attributes:
        written: number of bytes written, without holes.
    """

    def __init__(self, size: int, display: str, place: tuple[int, int] | None = None) -> None:
        self._size, self._display = size, display
        self._descriptor, self._base = -1, 0
        self._own = place is None
        self._waiting: list[bytes | memoryview] = []
        self._start = self._end = self.written = 0
        try:
            self._descriptor, self._base = (nameless(), 0) if place is None else place
        except OSError as error:
            raise self._no_room(error) from error

    def write(self, data: bytes | memoryview, at: int) -> None:
        """Write bytes at an offset, in ascending order.

        Raises:
            UnreadableFile: there is no space for them.
        """
        if not data:
            return
        if at != self._end or at - self._start >= _WINDOW or len(self._waiting) == _MOST_PIECES:
            self._flush()
            self._start = self._end = at
        if not data[0] and not data[-1] and bytes(data) == _ZEROS[: len(data)]:
            self._flush()  # a hole
            self._start = self._end = at + len(data)
            return
        self._waiting.append(data)
        self._end += len(data)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            if waiting and write_at(self._descriptor, waiting, self._base + self._start) < self._end - self._start:
                # To a regular file, only a part is written if the disk is full.
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise self._no_room(error) from error
        self.written += sum(map(len, waiting))

    def mapped(self) -> mmap.mmap:
        """The written bytes, with zeros elsewhere.

        Raises:
            UnreadableFile: there is no space for it, on the disk or in memory.
        """
        self._flush()
        try:
            end = self._base + self._size
            if os.fstat(self._descriptor).st_size < end:
                # Not ftruncate: another process may have extended it meanwhile.
                write_at(self._descriptor, (b"\0",), end - 1)
            return mmap.mmap(self._descriptor, self._size, access=mmap.ACCESS_READ, offset=self._base)
        except (OSError, ValueError, OverflowError) as error:
            if isinstance(error, OSError) and error.errno != errno.ENOMEM:
                raise self._no_room(error) from error
            raise NoRoom(self._display, f"no memory for its {size_words(self._size)}") from error

    def _no_room(self, error: OSError) -> NoRoom:
        words = os_error_words(error)
        return NoRoom(
            self._display,
            f"no space for its {size_words(self._size)} in a temporary file: {words} (TMPDIR sets the directory)",
        )

    def __del__(self) -> None:
        if self._own and self._descriptor >= 0:
            os.close(self._descriptor)


def in_part(source: Buffer, ranges: Iterable[tuple[int, int]], display: str, *, in_memory: bool) -> Buffer:
    """A copy with holes: as long as the source, with its (offset, size) ranges and zeros elsewhere.

    Args:
        in_memory: whether to use memory instead of a temporary file.

    Raises:
        UnreadableFile: there is no space for it.
    """
    size = len(source)
    if in_memory:
        copy = anonymous(size, display, filled=False)
        for at, length in ranges:
            copy[at : at + length] = source[at : at + length]
        return copy
    file = TemporaryFile(size, display)
    for start, length in ranges:
        for at in range(start, start + length, _WINDOW):
            file.write(source[at : min(at + _WINDOW, start + length)], at)
    return file.mapped()


def anonymous(size: int, display: str, *, filled: bool = True) -> mmap.mmap:
    """`size` zero bytes that take no memory until they are written, and are freed as soon as they are dropped.

    Args:
        filled: whether all of it will be written, so that large pages waste nothing.

    Raises:
        UnreadableFile: the system refuses.
    """
    try:
        # Private: Linux implements shared anonymous memory as a tmpfs file, whose page faults took a tenth of
        # inflating.
        private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
        buffer = mmap.mmap(-1, size, **private)
        if filled and size >= _LARGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel without them
                buffer.madvise(mmap.MADV_HUGEPAGE)
        return buffer
    except (OSError, ValueError, OverflowError) as error:
        raise NoRoom(display, f"no memory for its {size_words(size)}") from error
