"""Threads beside the one that Ctrl-C is for."""

from __future__ import annotations

import contextlib
import queue
import signal
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

_Item = TypeVar("_Item")


@contextlib.contextmanager
def interrupts_masked() -> Iterator[None]:
    """What is started within, threads and their processes, never has a SIGINT sent to it: it stays the main thread's,
    which would wait on where another thread took it."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def read_ahead(items: Iterable[_Item], most: int) -> Iterator[_Item]:
    """The same items, taken by a thread of its own, at most so many before they are wanted; what that raises is raised
    where the item was due."""
    waiting = queue.Queue[tuple[_Item, ...] | BaseException](most)
    stopped = threading.Event()

    def take() -> None:
        end: tuple[_Item, ...] | BaseException = ()
        try:
            for item in items:
                waiting.put((item,))
                if stopped.is_set():
                    return
        except BaseException as error:
            end = error
        waiting.put(end)

    with interrupts_masked():
        threading.Thread(target=take, daemon=True).start()
    try:
        while found := waiting.get():
            if isinstance(found, BaseException):
                raise found
            yield found[0]
    finally:
        stopped.set()
        with contextlib.suppress(queue.Empty):
            while True:  # so that the thread comes through
                waiting.get_nowait()
