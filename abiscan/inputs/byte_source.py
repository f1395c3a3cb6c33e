"""Random access to the bytes of an archive: a file, a part of one, or memory.

Files are read with `pread` and not mapped: pages of a mapped archive would count as memory of the run, and a file that
shrinks under a map kills the process.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from abiscan.errors import UnreadableFile, os_error_words
from abiscan.filesystem import READ_ONLY, read_at

if TYPE_CHECKING:
    import mmap

    from abiscan.model.progress import Progress

    Buffer = bytes | mmap.mmap


# Smaller reads are headers, of which an archive has one for each member: they are not reported as progress.
_LEAST_REPORTED = 1 << 13


class ByteSource(Protocol):
    """Bytes that can be read at any offset."""

    @property
    def size(self) -> int:
        """Size in bytes."""

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes; fewer at the end."""

    def will_read(self, offset: int, size: int) -> None:
        """Announce a sequential read of this range, so that a remote source can fetch larger pieces."""


class FileBytes:
    """A regular file on disk, opened on first use.

    Args:
        progress: receives what is read; it is not passed on to other processes.

    Raises:
        UnreadableFile: it cannot be read, or is not a regular file.
    """

    def __init__(self, path: str, display: str, progress: Progress | None = None) -> None:
        self.path, self.display, self._progress = path, display, progress
        self._descriptor: int | None = None
        self._size = 0

    def __getstate__(self) -> tuple[str, str]:
        return self.path, self.display

    def __setstate__(self, state: tuple[str, str]) -> None:
        self.__init__(*state)  # type: ignore[misc]

    def _open(self) -> int:
        if self._descriptor is None:
            try:
                # O_NONBLOCK: a FIFO that replaced the file must not block.
                descriptor = os.open(self.path, READ_ONLY)
            except OSError as error:
                raise UnreadableFile(self.display, f"cannot be opened: {os_error_words(error)}") from error
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                os.close(descriptor)
                raise UnreadableFile(self.display, "not a regular file")
            self._descriptor, self._size = descriptor, status.st_size
        return self._descriptor

    @property
    def size(self) -> int:
        """Size in bytes when it was opened."""
        self._open()
        return self._size

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at `offset`."""
        if self._progress is not None and size >= _LEAST_REPORTED:
            self._progress.read(self.display, offset, size)
        try:
            return read_at(self._open(), size, offset)
        except OSError as error:
            raise UnreadableFile(self.display, f"cannot be read: {os_error_words(error)}") from error

    def will_read(self, offset: int, size: int) -> None:
        """Does nothing: the system reads ahead."""

    def close(self) -> None:
        """Close the descriptor; the next read opens the file again."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            self.close()


class WindowBytes:
    """`size` bytes of another source, from `start`."""

    def __init__(self, source: ByteSource, start: int, size: int) -> None:
        self._source, self._start, self.size = source, start, size

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at `offset`, none outside of the window."""
        size = min(size, self.size - offset)
        return self._source.read_at(self._start + offset, size) if size > 0 and offset >= 0 else b""

    def will_read(self, offset: int, size: int) -> None:
        """Announce the range to the other source."""
        self._source.will_read(self._start + offset, size)


class WatchedBytes:
    """Another source, with a function that is called with the start and end of each range that was read."""

    def __init__(self, source: ByteSource, watch: Callable[[int, int], None]) -> None:
        self._source, self._watch = source, watch

    @property
    def size(self) -> int:
        """Size of the other source."""
        return self._source.size

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at `offset`."""
        data = self._source.read_at(offset, size)
        if data:
            self._watch(offset, offset + len(data))
        return data

    def will_read(self, offset: int, size: int) -> None:
        """Announce the range to the other source."""
        self._source.will_read(offset, size)


class MemoryBytes:
    """Bytes in memory, such as an archive that was unpacked from another."""

    def __init__(self, buffer: Buffer) -> None:
        self._buffer = buffer
        self.size = len(buffer)

    def __reduce__(self) -> tuple[type[MemoryBytes], tuple[bytes]]:
        return MemoryBytes, (self._buffer[:],)

    def read_at(self, offset: int, size: int) -> bytes:
        """Up to `size` bytes at `offset`."""
        return self._buffer[offset : offset + size]

    def will_read(self, offset: int, size: int) -> None:
        """Does nothing: the bytes are in memory."""
