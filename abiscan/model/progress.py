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


_INTERVAL = 0.1


class Relay:
    """A `Progress` that collects events and sends them at most ten times a second.

    Args:
        clock: returns seconds.
    """

    def __init__(self, send: Callable[[ProgressStep], object], clock: Callable[[], float]) -> None:
        self._send, self._clock = send, clock
        self._at, self._files = "", 0
        self._read: dict[str, list[int]] = {}
        self._known: set[tuple[str, int]] = set()
        self._sent = clock()

    def expect(self, sizes: Mapping[str, int]) -> None:
        """Do nothing: the parent process knows the archives."""

    def read(self, path: str, offset: int, size: int) -> None:
        """As `Progress.read`."""
        for block in range(offset // BLOCK, (offset + size - 1) // BLOCK + 1):
            if (path, block) not in self._known:
                self._known.add((path, block))
                self._read.setdefault(path, []).append(block)
        self._send_in_time()

    def at(self, text: str, files: int = 1) -> None:
        """As `Progress.at`; at the end, send everything that is left."""
        if not text:
            return self._send_all()
        self._at = text
        self._files += files
        return self._send_in_time()

    def _send_in_time(self) -> None:
        if self._clock() - self._sent >= _INTERVAL:
            self._sent = self._clock()
            self._send_all()

    def _send_all(self) -> None:
        if self._at or self._read:
            self._send(ProgressStep(self._at, self._files, self._read))
            self._at, self._files, self._read = "", 0, {}


def replay(step: ProgressStep, progress: Progress) -> None:
    """Report the step of another process to `progress`."""
    for path, blocks in step.read.items():
        for block in blocks:
            progress.read(path, block * BLOCK, 1)
    if step.at:
        progress.at(step.at, step.files)
