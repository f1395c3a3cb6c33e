"""Who scans the batches of a run. An executor is a function from batches to what they find, in their order."""

from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
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
from abiscan.model.report import InputError

if TYPE_CHECKING:
    from concurrent.futures import Future
    from multiprocessing.connection import Connection

    from abiscan.inputs.scratch import Scratch
    from abiscan.model.progress import Progress, Relay

# How often the steps of other processes are looked for, in seconds.
_LOOK = 0.1
# From so many bytes of archives on, as they are packed, two processes are quicker than one: of 23 wheels of 5 to 80 MB
# those above took 0.81 of the time in the median, and those below as long.
_LARGE = 16 << 20

Executor = Callable[[Iterable[Batch], AnalysisContext], Iterator[Scanned]]


def in_process(batches: Iterable[Batch], context: AnalysisContext) -> Iterator[Scanned]:
    """All in this process, one after the other."""
    for batch in batches:
        yield from scan_batch(batch, context)


def default_jobs(targets: Iterable[str], options: ScanOptions) -> int:
    """How many processes a run is worth where nobody says: two where one can unpack members of wheels while the other
    looks at what it has unpacked, and there are two processors for them; else one.

    Only files that are named, or stand in a folder that is, are looked at, and only at what they are called: others
    would have to be searched for, which the run itself does.
    """
    if sys.platform != "linux" or len(os.sched_getaffinity(0)) < 2:
        return 1
    settings = options.settings
    packed = 0
    for target in targets:
        path = os.path.join(settings.cwd, target)
        with suppress(OSError):  # said when it is read
            inside = settings.files.names(path) if settings.files.is_directory(path) else None
            found = [path] if inside is None else [os.path.join(path, name) for name in inside]
            packed += sum(os.stat(settings.files.host(each)).st_size for each in found if named_like_zip(each))
    return 2 if packed >= _LARGE else 1


def process_pool(jobs: int) -> Executor:
    """An executor that keeps `jobs` processes busy where there are batches for them; what they find comes whole batches
    at a time."""
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
        # Read the wheel once: every process then finds it in the cache.
        context.target.of_run(os.uname().machine)
    # What watches the run is here: the others send it what they do.
    quiet = replace(options, progress=None)
    watch = None if options.progress is None else _Watch(options.progress)
    # What is open here is open there only where a process begins as a copy of this one.
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

    # Not at the top: it imports subprocess, which one file does not need.
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
                # A worker died, and the pool with it: nothing of these batches has been handed on.
                broken += [each for each, _ in under_way]
                broken += [unsent] if unsent is not None else []
            except BaseException:
                # Ctrl-C, a refusal, or nobody wants more: what is under way is not waited for.
                pool.shutdown(wait=False, cancel_futures=True)
                for child in multiprocessing.active_children():
                    if child not in others:
                        child.kill()
                raise
    # Whatever none has told of: the file at which a worker died may have gone, and with it the numbers of those behind.
    for key in dict.fromkeys((each.targets, each.archives, each.environment) for each in broken):
        sources = any(each.sources for each in broken if (each.targets, each.archives, each.environment) == key)
        whole = Batch(key[0], archives=key[1], sources=sources, skip=frozenset(seen), environment=key[2])
        yield from note_seen(_alone(whole, quiet))


def in_children(batches: Iterable[Batch], context: AnalysisContext) -> Iterator[Scanned]:
    """All in this process but what might be cut off while it is mapped, which ends the process that reads it: that in a
    process of its own."""
    for batch in batches:
        if _is_read_whole(batch, context.options):
            yield from scan_batch(batch, context)
        else:
            yield from _alone(batch, context.options)


def _is_read_whole(batch: Batch, options: ScanOptions) -> bool:
    """Whether nothing that the batch names is mapped: files of a size that is read at once."""
    if not hasattr(os, "fork"):
        return True
    settings = options.settings
    for target in batch.targets:
        try:
            status = os.stat(settings.files.host(os.path.join(settings.cwd, target)))
        except OSError:
            return False  # a package; or nothing, as will be said
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_COPIED:
            return False
    return True


def _alone(batch: Batch, options: ScanOptions) -> Iterator[Scanned]:
    """A batch in a process of its own, artifact by artifact; the one at which it dies is reported as unread, and
    another process goes on behind it.

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


def _death(code: int | None) -> str:
    import signal

    return signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"


def _send(batch: Batch, options: ScanOptions, writer: int) -> NoReturn:
    """In a process of its own, which ends here."""
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
        pass  # nobody waits for it any more
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def _scratches(batches: Iterable[Batch], options: ScanOptions) -> dict[str, Scratch]:
    """Where each archive that is divided among processes is unpacked to; none where there is no room: each process
    then unpacks what it needs."""
    from abiscan.inputs.scratch import Scratch

    divided = {each.targets[0]: each.parts for each in batches if each.parts > 1 and each.archives}
    try:
        return {archive: Scratch(parts, hashes=options.hashes) for archive, parts in divided.items()}
    except OSError:
        return {}


class _Watch:
    """Where the steps of the processes of a pool arrive."""

    def __init__(self, progress: Progress) -> None:
        from multiprocessing import Pipe

        self._progress = progress
        self._reader, self.writer = Pipe(duplex=False)

    def look(self) -> None:
        """Tell what has arrived."""
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
    """In a worker process: the services that its batches have in common."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that waits for this one, and ends it
    if watched is not None:
        options = replace(options, progress=_relay_to(watched))
    _worker[:] = [(AnalysisContext(options), scratches)]


def _relay_to(connection: Connection) -> Relay:
    import pickle
    import select
    import time

    from abiscan.model.progress import ProgressStep, Relay

    # Nobody may read for a while, or any more: a step that does not fit waits, and the work goes on.
    os.set_blocking(connection.fileno(), False)

    def send(step: ProgressStep) -> bool:
        data = pickle.dumps(step)
        # With its four bytes of length, in one piece or not at all; a path of thousands of characters is not told.
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
