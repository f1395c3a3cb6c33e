"""Threads that do not receive Ctrl-C."""

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
    """Block SIGINT in threads and processes that are started within. It must reach the main thread, which would wait
    on."""
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def read_ahead(items: Iterable[_Item], limit: int) -> Iterator[_Item]:
    """The same items, read by another thread, up to `limit` items ahead. Its exceptions are raised at their place."""
    waiting = queue.Queue[tuple[_Item, ...] | BaseException](limit)
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
            while True:  # lets the thread finish
                waiting.get_nowait()
