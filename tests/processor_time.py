"""Bounds on processor time in seconds of a usual machine, on which CPython 3.11 adds 20 million numbers in 1.5 s, in a
loop of a module (global variables).

A time of this machine that exceeds its bound is divided by the slowness of this machine at that moment, so that a bound
has one meaning on fast and slow machines. Times that are compared with each other need no division."""

from __future__ import annotations

import contextlib
import re
import statistics
import time
from collections.abc import Callable, Iterator

_NAME = re.compile(r"(?:\w+::)+\w+|[-\w]+")
_LOG = "".join(f"ld: op{n}.o: undefined reference to `at::op_{n * 7919}::call(at::Tensor)'\n" for n in range(1000))
# Of `_work` on a usual machine, from its ratio to `for i in range(20_000_000): x += i` in the same seconds.
_USUAL_SECONDS = 0.006


def _work() -> None:
    """A mixture like that of abiscan: regular expressions, strings, dictionaries and bytecode."""
    counts: dict[str, int] = {}
    for name in _NAME.findall(_LOG):
        for part in name.split("::"):
            counts[part] = counts.get(part, 0) + 1


def seconds_of(work: Callable[..., object], *arguments: object) -> float:
    """Processor seconds of this machine."""
    started = time.process_time()
    work(*arguments)
    return time.process_time() - started


def slowness() -> float:
    """How many times as long as on a usual machine work takes on this one now; at least 1."""
    # A process on the same core comes and goes in tenths of a second, and makes work take twice as long.
    *_, slow = statistics.quantiles((seconds_of(_work) for _ in range(20)), n=10)
    return max(1.0, slow / _USUAL_SECONDS)


def is_at_most(seconds: float, bound: float) -> bool:
    """Whether processor seconds of this machine are within a bound in seconds of a usual machine."""
    return seconds <= bound or seconds / slowness() <= bound


@contextlib.contextmanager
def at_most(bound: float, what: str = "") -> Iterator[None]:
    """Raise AssertionError where the block takes more seconds of a usual machine, even if it raises an exception."""
    started = time.process_time()
    try:
        yield
    finally:
        taken = time.process_time() - started
        if taken > bound:
            usual = taken / slowness()
            assert usual <= bound, (
                f"{taken:.2f} s of processor time, {usual:.2f} s of a usual machine, more than {bound:.2f}: {what}"
            )


def is_at_most_times(factor: float, seconds: Callable[[], float], reference: Callable[[], float]) -> bool:
    """Whether the one takes at most `factor` times the seconds of the other, in one of five pairs: a process on the
    same core, or a collection of garbage, makes a measurement larger."""
    return any(seconds() <= factor * reference() for _ in range(5))
