"""Where a member is unpacked to: memory, or from MAX_IN_MEMORY on a temporary file without a name, which the system can
take out of memory again and which goes with the process."""

from __future__ import annotations

import contextlib
import errno
import mmap
import os
from collections.abc import Iterable

from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_IN_MEMORY

_LARGE_PAGE = 2 << 20
# Written at a time.
_WINDOW = 1 << 20
_ZEROS = bytes(_WINDOW)
# IOV_MAX of Linux.
_MOST_PIECES = 1024

Buffer = bytes | mmap.mmap


class Unpacked:
    """`size` bytes that come piece by piece.

    Raises:
        UnreadableFile: there is no room for them.
    """

    def __init__(self, size: int, display: str) -> None:
        self._memory = None if size > MAX_IN_MEMORY else anonymous(size, display)
        self._file = _Temporary(size, display) if self._memory is None else None
        self.length = 0

    def append(self, piece: bytes) -> None:
        """The next bytes.

        Raises:
            UnreadableFile: they do not fit on the disk.
        """
        end = self.length + len(piece)
        if self._memory is not None:
            self._memory[self.length : end] = piece
        else:
            assert self._file is not None
            self._file.write(piece, self.length)
        self.length = end

    def buffer(self) -> Buffer:
        """All of them.

        Raises:
            UnreadableFile: as `append`.
        """
        if self._memory is not None:
            return self._memory
        assert self._file is not None
        return self._file.mapped()


class _Temporary:
    """A file of `size` bytes that is in no directory: nothing is left of it, however the process ends.

    It is written and not mapped for writing: a full disk is an error here, and a signal there.
    """

    def __init__(self, size: int, display: str) -> None:
        import tempfile

        self._size, self._display = size, display
        self._descriptor = -1
        self._waiting: list[bytes] = []
        self._start = self._end = 0
        try:
            self._descriptor, path = tempfile.mkstemp(prefix="abiscan-")
            os.unlink(path)
        except OSError as error:
            raise self._no_room(error) from error

    def write(self, data: bytes, at: int) -> None:
        if not data:
            return
        if at != self._end or at - self._start >= _WINDOW or len(self._waiting) == _MOST_PIECES:
            self._flush()
            self._start = self._end = at
        if not data[0] and not data[-1] and data == _ZEROS[: len(data)]:
            self._flush()  # a hole
            self._start = self._end = at + len(data)
            return
        self._waiting.append(data)
        self._end += len(data)

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        try:
            if waiting and os.pwritev(self._descriptor, waiting, self._start) < self._end - self._start:
                # Of a regular file a part is written where the disk is full.
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            raise self._no_room(error) from error

    def mapped(self) -> mmap.mmap:
        self._flush()
        try:
            os.ftruncate(self._descriptor, self._size)
            return mmap.mmap(self._descriptor, self._size, access=mmap.ACCESS_READ)
        except (OSError, ValueError, OverflowError) as error:
            raise UnreadableFile(self._display, f"no room for its {size_words(self._size)}: {error}") from error

    def _no_room(self, error: OSError) -> UnreadableFile:
        words = (error.strerror or str(error)).lower()
        return UnreadableFile(
            self._display,
            f"no room for its {size_words(self._size)} in a temporary file: {words} (TMPDIR names the directory)",
        )

    def __del__(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)


def in_part(source: Buffer, ranges: Iterable[tuple[int, int]], display: str, *, in_memory: bool) -> Buffer:
    """A copy with holes: as long as the source, with its (offset, size) ranges and zeros elsewhere.

    Args:
        in_memory: rather than on a temporary file.

    Raises:
        UnreadableFile: there is no room for it.
    """
    size = len(source)
    if in_memory:
        copy = anonymous(size, display, filled=False)
        for at, length in ranges:
            copy[at : at + length] = source[at : at + length]
        return copy
    file = _Temporary(size, display)
    for start, length in ranges:
        for at in range(start, start + length, _WINDOW):
            file.write(source[at : min(at + _WINDOW, start + length)], at)
    return file.mapped()


def anonymous(size: int, display: str, *, filled: bool = True) -> mmap.mmap:
    """`size` bytes of zeros that take no memory until they are written, and are given back the moment they are dropped.

    Args:
        filled: all of it will be written, so that large pages waste nothing.

    Raises:
        UnreadableFile: the system refuses.
    """
    try:
        # Private: shared anonymous memory is a file of tmpfs to Linux, whose page faults took a tenth of inflating.
        buffer = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        if filled and size >= _LARGE_PAGE and hasattr(mmap, "MADV_HUGEPAGE"):
            with contextlib.suppress(OSError):  # a kernel without them
                buffer.madvise(mmap.MADV_HUGEPAGE)
        return buffer
    except (OSError, ValueError, OverflowError) as error:
        raise UnreadableFile(display, f"no memory for its {size_words(size)}") from error


def size_words(size: int) -> str:
    """`4 GiB`, `64 MiB`, `17 bytes`."""
    for unit, words in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {words}"
    return f"{size} bytes"
