"""The progress of a run on a terminal: bytes read of the archives, or the number of the file."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TextIO

from abiscan.model.progress import BLOCK
from abiscan.report.escape import printable

if TYPE_CHECKING:
    from tqdm import tqdm

# Seconds. A shorter task needs no bar.
_DELAY, _INTERVAL = 0.5, 0.1


class ProgressBar:
    """Draws `Progress`. Imports and draws nothing in the first half second, and removes the bar at the end.

    Args:
        counted: the unit if sizes are unknown.
    """

    def __init__(
        self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic, counted: str = "files"
    ) -> None:
        self._counted = counted
        self._stream = stream or sys.stderr
        self._clock = clock
        self._begun = clock()
        self._drawn = self._begun + _DELAY - _INTERVAL
        self._sizes: Mapping[str, int] = {}
        self._read: set[tuple[str, int]] = set()
        self._done = self._number = 0
        self._text = ""
        self._bar: tqdm[Any] | None = None

    def expect(self, sizes: Mapping[str, int]) -> None:
        """See `Progress.expect`."""
        self._sizes = sizes

    def read(self, path: str, offset: int, size: int) -> None:
        """See `Progress.read`."""
        whole = self._sizes.get(path, 0)
        for block in range(offset // BLOCK, min(offset + size - 1, whole - 1) // BLOCK + 1):
            if (path, block) not in self._read:
                self._read.add((path, block))
                self._done += min(BLOCK, whole - block * BLOCK)
        self._draw()

    def at(self, text: str, files: int = 1) -> None:
        """See `Progress.at`."""
        self._text = text
        if text:
            self._number += files
            self._draw()
        elif self._bar is not None:
            self._bar.close()
            self._bar = None

    def _draw(self) -> None:
        now = self._clock()
        if now - self._drawn < _INTERVAL:
            return
        self._drawn = now
        if self._bar is None:
            self._bar = _bar(sum(self._sizes.values()), self._stream, self._counted)
            self._bar.start_t -= now - self._begun
        # The name of a member, or the end of a path.
        text = printable(self._text).rpartition("!")[2]
        self._bar.n = self._done if self._sizes else self._number
        self._bar.set_postfix_str(text if len(text) <= _NAME else f"...{text[3 - _NAME :]}", refresh=False)
        self._bar.refresh()


# Columns for the current name.
_NAME = 36


def _bar(total: int, stream: TextIO, what: str) -> tqdm[Any]:
    import threading

    from tqdm import tqdm

    # No thread in a process that forks, and no lock between processes: only this process draws.
    tqdm.monitor_interval = 0
    tqdm.set_lock(threading.RLock())
    counted = "{n_fmt}B/{total_fmt}B [{elapsed}<{remaining}]" if total else f"{{n_fmt}} {what} [{{elapsed}}]"
    return tqdm(
        total=total or None,
        file=stream,
        leave=False,
        dynamic_ncols=True,
        delay=_INTERVAL / 2,  # not drawn before there is a text
        unit_scale=bool(total),
        bar_format=("{percentage:3.0f}%|{bar}| " if total else "") + counted + "{postfix}",
    )
