"""Who scans the shares of a run. An executor is a function from shares to what they find, in their order."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.scan_options import ScanOptions
from abiscan.analysis.share import Scanned, ScannedArtifact, Share, ShareEnd, scan_share
from abiscan.model.report import InputError
from abiscan.targets import Artifact, expand
from abiscan.targets import Options as TargetOptions

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

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
    from concurrent.futures.process import BrokenProcessPool

    options = context.options
    if options.torch is not None and options.settings.files.is_file(options.torch) and options.cache is not None:
        # Read the wheel once: every process then finds it in the cache.
        context.chosen(os.uname().machine)
    # Functions do not travel to another process, and shares of one progress line would overwrite each other.
    quiet = replace(options, progress=None)
    waiting = iter(shares)
    broken: list[Share] = []
    while True:
        under_way: deque[tuple[Share, Future[list[Scanned]]]] = deque()
        unsent: Share | None = None
        with ProcessPoolExecutor(jobs, initializer=_start, initargs=(quiet,)) as pool:
            try:
                for share in waiting:
                    unsent = share
                    under_way.append((share, pool.submit(_scan_in_worker, share)))
                    unsent = None
                    if len(under_way) > 2 * jobs:
                        yield from under_way[0][1].result()
                        under_way.popleft()
                while under_way:
                    yield from under_way[0][1].result()
                    under_way.popleft()
                break
            except BrokenProcessPool:
                # A worker died, and the pool with it: nothing of these shares has been handed on.
                broken += [each for each, _ in under_way]
                broken += [unsent] if unsent is not None else []
    for each in broken:
        yield from _alone(each, quiet)


def _alone(share: Share, options: ScanOptions) -> Iterator[Scanned]:
    """A share in a process of its own, artifact by artifact; the one at which it dies is reported as unread, and
    another process goes on behind it."""
    from multiprocessing import Pipe, Process

    done = share.done
    while True:
        reader, writer = Pipe(duplex=False)
        process = Process(target=_send, args=(options, replace(share, done=done), writer))
        process.start()
        writer.close()
        started, ended = done, False
        with reader:
            while not ended:
                try:
                    item: Scanned = reader.recv()
                except EOFError:
                    break
                done += isinstance(item, ScannedArtifact)
                ended = isinstance(item, ShareEnd)
                # What is said of the share as a whole comes again with each process that goes through it.
                if started == share.done or isinstance(item, (ScannedArtifact, ShareEnd)):
                    yield item
        process.join()
        if ended:
            return
        died = f"the process that read it died ({_death(process.exitcode)})"
        artifact = _first_artifact(replace(share, done=done), options)
        if artifact is None:
            yield InputError(", ".join(share.targets), f"{died}: what it held is unread")
            return
        yield InputError(artifact, f"{died}: the file is unread")
        done += 1


def _death(code: int | None) -> str:
    import signal

    return signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"


def _first_artifact(share: Share, options: ScanOptions) -> str | None:
    """What the first artifact of a share is called."""
    site = options.environment.site_packages if options.environment is not None else ()
    wanted = TargetOptions(archives=share.archives, files=options.settings.files)
    found = expand(share.targets, cwd=options.settings.cwd, environment_paths=site, options=wanted)
    own = islice((item for item in found if isinstance(item, Artifact)), share.part, None, share.parts)
    artifact = next(islice(own, share.done, None), None)
    return None if artifact is None else artifact.display


def _send(options: ScanOptions, share: Share, writer: Connection) -> None:
    """In a process of its own."""
    for item in scan_share(share, AnalysisContext(options)):
        writer.send(item)


_worker: list[AnalysisContext] = []


def _start(options: ScanOptions) -> None:
    """In a worker process: the services that its shares have in common."""
    _worker[:] = [AnalysisContext(options)]


def _scan_in_worker(share: Share) -> list[Scanned]:
    (context,) = _worker
    return list(scan_share(share, context))
