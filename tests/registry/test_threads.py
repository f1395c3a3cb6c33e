"""Listing in another thread."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator

import pytest

from abiscan.registry.threads import read_ahead


def waited(condition: object) -> bool:
    assert callable(condition)
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(condition())


def test_items_come_in_their_order_and_an_error_where_it_was_due() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise ZeroDivisionError

    taken = read_ahead(items(), 2)
    assert [next(taken) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ZeroDivisionError):
        next(taken)
    assert list(read_ahead([], 2)) == []
    assert list(read_ahead([0, "", None], 2)) == [0, "", None], "what is false is an item too"


def test_read_ahead_is_bounded_and_stops() -> None:
    listed: list[int] = []
    before = threading.active_count()

    def items() -> Iterator[int]:
        for number in range(1000):
            listed.append(number)
            yield number

    taken = read_ahead(items(), 3)
    assert next(taken) == 0
    # One was returned, three wait, and the thread holds one.
    assert waited(lambda: len(listed) == 5)
    time.sleep(0.05)
    assert len(listed) == 5
    taken.close()  # type: ignore[attr-defined]
    assert waited(lambda: threading.active_count() == before)
    assert len(listed) <= 8


def test_no_interrupt_comes_to_the_thread() -> None:
    def masks() -> Iterator[set[int]]:
        yield set(signal.pthread_sigmask(signal.SIG_BLOCK, ()))

    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    (inside,) = read_ahead(masks(), 1)
    assert signal.SIGINT in inside
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
