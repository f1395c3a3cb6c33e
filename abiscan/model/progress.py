"""Progress of a run, and its transfer from worker processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

# Reads of an archive are counted in blocks of this many bytes, so that repeated reads count once.
BLOCK = 1 << 20


class Progress(Protocol):
    """Receives progress events."""

    def expect(self, sizes: Mapping[str, int]) -> None:
        """Announce the archives to read: display path -> size in bytes."""

    def read(self, path: str, offset: int, size: int) -> None:
        """Report a read of `size` bytes at `offset` of an archive."""

    def at(self, text: str, files: int = 1) -> None:
        """Report the current item and that `files` more files were started; empty text: nothing is left."""


class ProgressStep(Struct, frozen=True):
    """Progress of another process since its last step.

    Attributes:
        at: the current item; empty if it is unchanged.
        files: number of files started.
        read: display path of an archive -> numbers of the blocks read.
    """

    at: str
    files: int
    read: dict[str, list[int]]


# Writes of up to PIPE_BUF bytes to a pipe are atomic: at least 512 (POSIX), 4,096 on Linux.
_MOST_BLOCKS, _LONGEST_TEXT = 24, 160
_INTERVAL = 0.1


class Relay:
    """A `Progress` that collects events and sends them at most ten times a second.

    Args:
        send: sends a step; returns False if it must be sent again later.
        clock: returns seconds.
    """

    def __init__(self, send: Callable[[ProgressStep], bool], clock: Callable[[], float]) -> None:
        self._send, self._clock = send, clock
        self._at, self._files = "", 0
        self._read: dict[str, dict[int, None]] = {}
        self._known: set[tuple[str, int]] = set()
        self._sent = clock()

    def expect(self, sizes: Mapping[str, int]) -> None:
        """Do nothing: the parent process knows the archives."""

    def read(self, path: str, offset: int, size: int) -> None:
        """As `Progress.read`."""
        for block in range(offset // BLOCK, (offset + size - 1) // BLOCK + 1):
            if (path, block) not in self._known:
                self._known.add((path, block))
                self._read.setdefault(path, {})[block] = None
        self._tell()

    def at(self, text: str, files: int = 1) -> None:
        """As `Progress.at`; at the end, send everything that is left."""
        if not text:
            return self.flush()
        self._at = text[-_LONGEST_TEXT:]
        self._files += files
        return self._tell()

    def flush(self) -> None:
        """Send everything that is left, until `send` refuses."""
        while (self._at or self._read) and self._send_one():
            pass

    def _tell(self) -> None:
        if self._clock() - self._sent >= _INTERVAL:
            self._sent = self._clock()
            self._send_one()

    def _send_one(self) -> bool:
        path = next(iter(self._read), None)
        blocks = [] if path is None else list(self._read[path])[:_MOST_BLOCKS]
        step = ProgressStep(self._at, self._files, {} if path is None else {path: blocks})
        if not (self._at or blocks) or not self._send(step):
            return False
        self._at, self._files = "", 0
        if path is not None:
            for block in blocks:
                del self._read[path][block]
            if not self._read[path]:
                del self._read[path]
        return True


def replay(step: ProgressStep, progress: Progress) -> None:
    """Report the step of another process to `progress`."""
    for path, blocks in step.read.items():
        for block in blocks:
            progress.read(path, block * BLOCK, 1)
    if step.at:
        progress.at(step.at, step.files)
