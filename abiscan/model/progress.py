"""How far a run is, for whoever watches: a terminal, or nobody."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from msgspec import Struct

# What is read of an archive is counted in blocks of this size, in bytes, so that what is read twice counts once.
BLOCK = 1 << 20


class Progress(Protocol):
    """Is told what happens; says nothing back."""

    def expect(self, sizes: Mapping[str, int]) -> None:
        """These archives will be read: display path -> size in bytes."""

    def read(self, path: str, offset: int, size: int) -> None:
        """`size` bytes of an archive from `offset` on are being read."""

    def at(self, text: str, files: int = 1) -> None:
        """What is under way from now on, which is `files` more than before; empty where nothing is any more."""


class ProgressStep(Struct, frozen=True):
    """What another process has done since its last step.

    Attributes:
        at: what is under way; empty where that is still the same.
        files: how many were begun.
        read: display path of an archive -> numbers of the blocks that were read.
    """

    at: str
    files: int
    read: dict[str, list[int]]


# A step of another process must go through a pipe in one piece: PIPE_BUF is 512 at least (POSIX), 4,096 on Linux.
_MOST_BLOCKS, _LONGEST_TEXT = 24, 160
_INTERVAL = 0.1


class Relay:
    """A `Progress` that gathers what it is told and sends it on, ten times a second at most.

    Args:
        send: takes a step; False where it could not be taken, so that it is tried again later.
        clock: seconds.
    """

    def __init__(self, send: Callable[[ProgressStep], bool], clock: Callable[[], float]) -> None:
        self._send, self._clock = send, clock
        self._at, self._files = "", 0
        self._read: dict[str, dict[int, None]] = {}
        self._known: set[tuple[str, int]] = set()
        self._sent = clock()

    def expect(self, sizes: Mapping[str, int]) -> None:
        """As `Progress.expect`: whoever began the run knows."""

    def read(self, path: str, offset: int, size: int) -> None:
        """As `Progress.read`."""
        for block in range(offset // BLOCK, (offset + size - 1) // BLOCK + 1):
            if (path, block) not in self._known:
                self._known.add((path, block))
                self._read.setdefault(path, {})[block] = None
        self._tell()

    def at(self, text: str, files: int = 1) -> None:
        """As `Progress.at`; at the end everything that has not been sent is, as far as it is taken."""
        if not text:
            return self.flush()
        self._at = text[-_LONGEST_TEXT:]
        self._files += files
        return self._tell()

    def flush(self) -> None:
        """Send what has not been sent, as far as it is taken."""
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
    """Tell `progress` what another process told."""
    for path, blocks in step.read.items():
        for block in blocks:
            progress.read(path, block * BLOCK, 1)
    if step.at:
        progress.at(step.at, step.files)
