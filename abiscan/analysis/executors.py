"""Who scans the shares of a run. An executor is a function from shares to what they find, in their order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.scan_options import ScanOptions
from abiscan.analysis.share import Scanned, Share, scan_share

if TYPE_CHECKING:
    from concurrent.futures import Future

Executor = Callable[[Iterable[Share], AnalysisContext], Iterator[Scanned]]


def in_process(shares: Iterable[Share], context: AnalysisContext) -> Iterator[Scanned]:
    """All in this process, one after the other."""
    for share in shares:
        yield from scan_share(share, context)


def process_pool(jobs: int) -> Executor:
    """An executor that keeps `jobs` processes busy; what they find comes whole shares at a time."""
    return partial(_in_processes, jobs)


def _in_processes(jobs: int, shares: Iterable[Share], context: AnalysisContext) -> Iterator[Scanned]:
    from concurrent.futures import ProcessPoolExecutor

    options = context.options
    if options.torch is not None and os.path.isfile(options.torch) and options.cache is not None:
        # Read the wheel once: every process then finds it in the cache.
        context.chosen(os.uname().machine)
    # Functions do not travel to another process, and shares of one progress line would overwrite each other.
    quiet = replace(options, progress=None)
    with ProcessPoolExecutor(jobs, initializer=_start, initargs=(quiet,)) as pool:
        under_way: deque[Future[list[Scanned]]] = deque()
        for share in shares:
            under_way.append(pool.submit(_scan_in_worker, share))
            if len(under_way) > 2 * jobs:
                yield from under_way.popleft().result()
        while under_way:
            yield from under_way.popleft().result()


_worker: list[AnalysisContext] = []


def _start(options: ScanOptions) -> None:
    """In a worker process: the services that its shares have in common."""
    _worker[:] = [AnalysisContext(options)]


def _scan_in_worker(share: Share) -> list[Scanned]:
    (context,) = _worker
    return list(scan_share(share, context))
