"""Executors: functions that scan the batches of a run and return their results in order."""

from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from abiscan.analysis.batches import Batch, BatchEnd, Scanned, ScannedArtifact
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.scan_batch import scan_batch
from abiscan.analysis.scan_options import ScanOptions
from abiscan.errors import AbiscanError
from abiscan.inputs.file_kind import named_like_zip
from abiscan.model.limits import MAX_COPIED
from abiscan.model.platforms import own_key
from abiscan.model.report import InputError

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

    from abiscan.inputs.scratch import Scratch
    from abiscan.model.progress import Progress, Relay

# Interval in seconds in which progress of other processes is read.
_LOOK = 0.1
# Seconds for a killed process to end.
_KILLED_SECONDS = 1.0
# Packed bytes of archives from which two processes are faster than one: of 23 wheels of 5 to 80 MB, larger ones took
# 0.81 of the time in the median, smaller ones as long as with one process.
_LARGE = 16 << 20

Executor = Callable[[Iterable[Batch], AnalysisContext], Iterator[Scanned]]


def in_process(batches: Iterable[Batch], context: AnalysisContext) -> Iterator[Scanned]:
    """Scan all batches in this process."""
    for batch in batches:
        yield from scan_batch(batch, context)


def default_jobs(targets: Iterable[str], options: ScanOptions) -> int:
    """The default number of processes: two if one can unpack members of wheels while the other checks unpacked ones,
    and there are two processors; else one.

    Considers only given files and files directly in given directories, by name: searching for others is part of the
        run.
    """
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2:
        return 1
    settings = options.settings
    packed = 0
    for target in targets:
        path = os.path.join(settings.cwd, target)
        with suppress(OSError):  # reported when it is read
            inside = settings.files.names(path) if settings.files.is_directory(path) else None
            found = [path] if inside is None else [os.path.join(path, name) for name in inside]
            packed += sum(os.stat(settings.files.host(each)).st_size for each in found if named_like_zip(each))
    return 2 if packed >= _LARGE else 1


def process_pool(jobs: int) -> Executor:
    """An executor with `jobs` processes. Results come in whole batches."""
    return partial(_in_processes, jobs)


def _in_processes(jobs: int, batches: Iterable[Batch], context: AnalysisContext) -> Iterator[Scanned]:
    planned = list(batches)
    if len(planned) == 1:
        yield from in_children(planned, context)
        return
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool

    options = context.options
    if options.torch is not None and options.settings.files.is_file(options.torch) and options.cache is not None:
        # Read the wheel once, so that every process finds it in the cache.
        context.target.run_torch(own_key())
    # The progress observer is in this process; the others send their steps.
    quiet = replace(options, progress=None)
    watch = None if options.progress is None else _Watch(options.progress)
    # Open files are inherited only by forked processes.
    copied = sys.platform == "linux"
    start = multiprocessing.get_context("fork" if copied else None)
    scratches = _scratches(planned, options) if copied else {}
    workers = max(1, min(jobs, len(planned)))
    others = multiprocessing.active_children()
    waiting = iter(planned)
    broken: list[Batch] = []
    seen: set[str] = set()

    def note_seen(found: Iterable[Scanned]) -> Iterator[Scanned]:
        for item in found:
            if isinstance(item, ScannedArtifact):
                seen.add(item.display)
            yield item

    # Imported late: it imports subprocess, which the scan of one file does not need.
    from abiscan.child_processes import safe_workers

    while True:
        under_way: deque[tuple[Batch, Future[list[Scanned]]]] = deque()
        unsent: Batch | None = None
        begin = (quiet, scratches, None if watch is None else watch.writer)
        with safe_workers(), ProcessPoolExecutor(workers, start, initializer=_start, initargs=begin) as pool:
            try:
                for batch in waiting:
                    unsent = batch
                    under_way.append((batch, pool.submit(_scan_in_worker, batch)))
                    unsent = None
                    if len(under_way) > 2 * jobs:
                        yield from note_seen(_result(under_way[0][1], watch))
                        under_way.popleft()
                while under_way:
                    yield from note_seen(_result(under_way[0][1], watch))
                    under_way.popleft()
                break
            except BrokenProcessPool:
                # A worker died, and the pool with it: no result of these batches was passed on.
                broken += [each for each, _ in under_way]
                broken += [unsent] if unsent is not None else []
            except BaseException:
                # Ctrl-C, an error, or a closed generator: do not wait for running batches.
                _end_workers(pool, others)
                raise
    for whole in _whole_batches(broken, seen):
        yield from note_seen(_alone(whole, quiet))


def _end_workers(pool: ProcessPoolExecutor, others: Sequence[BaseProcess]) -> None:
    """Kill the processes of a pool.

    Args:
        others: processes that were there before it.
    """
    import multiprocessing

    pool.shutdown(wait=False, cancel_futures=True)
    left = [child for child in multiprocessing.active_children() if child not in others]
    for child in left:
        child.kill()
    # The pool does not wait for them after `wait=False`.
    for child in left:
        child.join(_KILLED_SECONDS)


def _whole_batches(broken: Sequence[Batch], seen: set[str]) -> Iterator[Batch]:
    """The artifacts that no batch reported: the file at which a worker died may be gone, which shifts the numbers of
    the rest."""
    wholes: dict[tuple[object, ...], list[Batch]] = {}
    for each in broken:
        wholes.setdefault((each.targets, each.archives, each.environment), []).append(each)
    for first, *rest in wholes.values():
        sources = any(each.sources for each in (first, *rest))
        yield replace(first, part=0, parts=1, sources=sources, skip=frozenset(seen))


def in_children(batches: Iterable[Batch], context: AnalysisContext) -> Iterator[Scanned]:
    """Scan in this process, but mapped files in a separate process: truncating a mapped file kills its reader."""
    for batch in batches:
        if _is_read_whole(batch, context.options):
            yield from scan_batch(batch, context)
        else:
            yield from _alone(batch, context.options)


def _is_read_whole(batch: Batch, options: ScanOptions) -> bool:
    """Whether the batch has only files that are small enough to be read instead of mapped."""
    if not hasattr(os, "fork"):
        return True
    settings = options.settings
    for target in batch.targets:
        try:
            status = os.stat(settings.files.host(os.path.join(settings.cwd, target)))
        except OSError:
            return False  # a package name, or a missing path, which is reported later
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_COPIED:
            return False
    return True


def _alone(batch: Batch, options: ScanOptions) -> Iterator[Scanned]:
    """Scan a batch in a separate process. The artifact at which it dies is reported as unread, and another process
    continues after it.

    Raises:
        AbiscanError: as `scan_batch`.
    """
    import pickle
    import signal

    from abiscan.model.progress import ProgressStep, replay

    died: set[str] = set()
    done: set[str] = set(batch.skip)
    while True:
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            _send(replace(batch, skip=frozenset(done)), options, writer)
        os.close(writer)
        current: str | None = None
        with os.fdopen(reader, "rb") as stream:
            try:
                while True:
                    item: Scanned | AbiscanError | ProgressStep | str = pickle.load(stream)
                    if isinstance(item, str):
                        current = item
                        continue
                    if isinstance(item, ProgressStep):
                        if options.progress is not None:
                            replay(item, options.progress)
                        continue
                    if isinstance(item, AbiscanError):
                        raise item
                    if isinstance(item, ScannedArtifact):
                        current = None
                        done.add(item.display)
                    if not (isinstance(item, InputError) and item.path in died):
                        yield item
                    if isinstance(item, BatchEnd):
                        return
            except (EOFError, pickle.UnpicklingError):
                pass
            except BaseException:
                os.kill(child, signal.SIGKILL)  # as above
                raise
            finally:
                stream.close()
                _, status = os.waitpid(child, 0)
        reason = f"the process that read it died ({_death(os.waitstatus_to_exitcode(status))})"
        if current is None:
            yield InputError(", ".join(batch.targets), f"{reason}: its members were not read")
            return
        died.add(current)
        done.add(current)
        yield InputError(current, f"{reason}: the file was not read")


def _death(code: int) -> str:
    import signal

    return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def _send(batch: Batch, options: ScanOptions, writer: int) -> NoReturn:
    """Run in the child process, and end it."""
    import pickle
    import time
    import traceback

    from abiscan.model.progress import ProgressStep, Relay

    status = 1
    try:
        with os.fdopen(writer, "wb") as stream:
            try:

                def put(item: Scanned | ProgressStep | str) -> bool:
                    pickle.dump(item, stream)
                    stream.flush()
                    return True

                relay = None if options.progress is None else Relay(put, time.monotonic)
                for item in scan_batch(batch, AnalysisContext(replace(options, progress=relay)), put):
                    if relay is not None and isinstance(item, BatchEnd):
                        relay.at("")
                    put(item)
            except AbiscanError as error:
                pickle.dump(error, stream)
        status = 0
    except (BrokenPipeError, KeyboardInterrupt):
        pass  # the parent stopped reading
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _scratches(batches: Iterable[Batch], options: ScanOptions) -> dict[str, Scratch]:
    """The shared scratch directory of each archive that is divided among processes; empty without disk space: each
    process then unpacks what it needs."""
    from abiscan.inputs.scratch import Scratch

    divided = {each.targets[0]: each.parts for each in batches if each.parts > 1 and each.archives}
    try:
        return {archive: Scratch(parts, hashes=options.hashes) for archive, parts in divided.items()}
    except OSError:
        return {}


class _Watch:
    """Receives the progress steps of the processes of a pool."""

    def __init__(self, progress: Progress) -> None:
        from multiprocessing import Pipe

        self._progress = progress
        self._reader, self.writer = Pipe(duplex=False)

    def look(self) -> None:
        """Report the steps received so far."""
        import pickle

        from abiscan.model.progress import replay

        while self._reader.poll():
            replay(pickle.loads(self._reader.recv_bytes()), self._progress)


def _result(future: Future[list[Scanned]], watch: _Watch | None) -> list[Scanned]:
    if watch is not None:
        from concurrent.futures import wait

        while not future.done():
            wait((future,), timeout=_LOOK)
            watch.look()
        watch.look()
    return future.result()


_worker: list[tuple[AnalysisContext, dict[str, Scratch]]] = []


def _start(options: ScanOptions, scratches: dict[str, Scratch], watched: Connection | None) -> None:
    """Initialise a worker process with the services that its batches share."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends this process
    _end_with_parent()
    if watched is not None:
        options = replace(options, progress=_relay_to(watched))
    _worker[:] = [(AnalysisContext(options), scratches)]


def _end_with_parent() -> None:
    """End this worker when its parent dies (SIGTERM, SIGKILL): it would wait for batches forever, because it holds both
    ends of their pipe, and its open output would block a reader."""
    import multiprocessing
    from multiprocessing.connection import wait
    from threading import Thread

    parent = multiprocessing.parent_process()
    if parent is not None:
        Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()


def _relay_to(connection: Connection) -> Relay:
    import pickle
    import select
    import time

    from abiscan.model.progress import ProgressStep, Relay

    # The parent may not read for a while, or never: a step that does not fit is kept, and the work continues.
    os.set_blocking(connection.fileno(), False)

    def send(step: ProgressStep) -> bool:
        data = pickle.dumps(step)
        # Atomic with its four bytes of length, or not at all; a path of thousands of characters is left out.
        if len(data) + 4 > select.PIPE_BUF:
            return True
        try:
            connection.send_bytes(data)
        except OSError:
            return False
        return True

    return Relay(send, time.monotonic)


def _scan_in_worker(batch: Batch) -> list[Scanned]:
    ((context, scratches),) = _worker
    scratch = scratches.get(batch.targets[0]) if batch.archives and batch.parts > 1 else None
    found = list(scan_batch(batch, context, scratch=scratch))
    if context.options.progress is not None:
        context.options.progress.at("")
    return found
