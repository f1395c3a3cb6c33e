"""Executors: functions that scan the batches of a run and return their results in order."""

from __future__ import annotations

import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import partial
from typing import IO, TYPE_CHECKING, NoReturn

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
    from abiscan.inputs.scratch import Scratch
    from abiscan.model.progress import ProgressStep

    Message = Scanned | ProgressStep | AbiscanError | str
    """Of a child to its parent: a result, progress, the error that ends the run, or `Artifact.display` of the file that
    it reads next."""

# Bytes of the length that precedes a message, and bytes that are read at once.
_LENGTH, _CHUNK = 8, 1 << 20
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


def in_children(jobs: int) -> Executor:
    """An executor with `jobs` child processes: truncating a mapped file kills its reader, and one process can check
    files while another unpacks members of wheels. Without `fork` (Windows), it scans in this process."""
    return partial(_in_children, jobs)


def _in_children(jobs: int, batches: Iterable[Batch], context: AnalysisContext) -> Iterator[Scanned]:
    planned = list(batches)
    jobs = max(1, min(jobs, len(planned)))
    options = context.options
    if not hasattr(os, "fork"):
        # Undivided: each part would unpack its archive again.
        yield from in_process((replace(batch, parts=1) for batch in planned if batch.part == 0), context)
        return
    if jobs == 1 and all(_is_read_whole(batch, options) for batch in planned):
        yield from in_process(planned, context)
        return
    if jobs > 1 and options.torch is not None and options.settings.files.is_file(options.torch) and options.cache:
        # Read the wheel once, so that every process finds it in the cache.
        context.target.run_torch(own_key())
    children = _Children(jobs, options, _scratches(planned, options))
    try:
        yield from children.scan(planned)
        while children.broken:
            yield from children.scan(children.take_broken())
    finally:
        children.end()  # also after Ctrl-C, an error, or a closed generator


def _is_read_whole(batch: Batch, options: ScanOptions) -> bool:
    """Whether the batch has only files that are small enough to be read instead of mapped."""
    settings = options.settings
    for target in batch.targets:
        try:
            status = os.stat(settings.files.host(os.path.join(settings.cwd, target)))
        except OSError:
            return False  # a package name, or a missing path, which is reported later
        if not stat.S_ISREG(status.st_mode) or status.st_size > MAX_COPIED:
            return False
    return True


def _scratches(batches: Iterable[Batch], options: ScanOptions) -> dict[str, Scratch]:
    """The shared scratch directory of each archive that is divided among processes; empty without disk space: each
    process then unpacks what it needs."""
    from abiscan.inputs.scratch import Scratch

    divided = {each.targets[0]: each.parts for each in batches if each.parts > 1 and each.archives}
    try:
        return {archive: Scratch(parts, hashes=options.hashes) for archive, parts in divided.items()}
    except OSError:
        return {}


class _Task:
    """A batch of a child, with the results that were not passed on yet."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.results: deque[Scanned] = deque()
        self.is_done = False


class _Child:
    """A child process.

    Attributes:
        task: the batch that it scans; None while it waits for one.
        reads: display path of the file that it reads; None between two.
        output: descriptor of its messages.
    """

    def __init__(self, options: ScanOptions, scratches: dict[str, Scratch], others: Iterable[_Child]) -> None:
        self.task: _Task | None = None
        self.reads: str | None = None
        self._unread = bytearray()
        batches, self._input = os.pipe()
        self.output, messages = os.pipe()
        self._process = os.fork()
        if self._process == 0:
            # An open copy of their input would keep the others waiting after the end of the parent.
            for child in (self, *others):
                child.close()
            _work(os.fdopen(batches, "rb"), os.fdopen(messages, "wb"), options, scratches)
        os.close(batches)
        os.close(messages)

    def begin(self, task: _Task) -> None:
        import pickle

        self.task = task
        # If it died while it waited, its output has ended, too.
        with suppress(BrokenPipeError), os.fdopen(os.dup(self._input), "wb") as batches:
            pickle.dump(task.batch, batches)

    def receive(self) -> Iterator[Message]:
        """The messages that can be read now, at least a part of one.

        Raises:
            EOFError: the process has ended.
        """
        import pickle

        data = os.read(self.output, _CHUNK)
        if not data:
            raise EOFError
        self._unread += data
        while (end := _LENGTH + int.from_bytes(self._unread[:_LENGTH], "little")) <= len(self._unread):
            message: Message = pickle.loads(self._unread[_LENGTH:end])
            del self._unread[:end]
            yield message

    def close(self) -> None:
        os.close(self._input)
        os.close(self.output)

    def end(self) -> str:
        """End the process, and return how it ended, if it had ended before."""
        import signal

        self.close()
        os.kill(self._process, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"


class _Children:
    """The child processes of a run.

    Attributes:
        broken: batches at which one died.
    """

    def __init__(self, number: int, options: ScanOptions, scratches: dict[str, Scratch]) -> None:
        self._options, self._scratches = options, scratches
        self._seen: dict[str | InputError, _Task] = {}
        self._died: set[str] = set()
        self.broken: list[Batch] = []
        self._all: list[_Child] = []
        for _ in range(number):
            self._add()

    def _add(self) -> None:
        self._all.append(_Child(self._options, self._scratches, self._all))

    def scan(self, batches: Iterable[Batch]) -> Iterator[Scanned]:
        """The results in the order of batches. A file at which a child dies is reported as unread.

        Raises:
            AbiscanError: as `scan_batch`.
        """
        waiting = deque(batches)
        tasks: deque[_Task] = deque()
        while waiting or tasks:
            for child in self._all:
                if child.task is None and waiting and len(tasks) <= 2 * len(self._all):
                    tasks.append(_Task(waiting.popleft()))
                    child.begin(tasks[-1])
            while tasks and (tasks[0].results or tasks[0].is_done):
                while tasks[0].results:
                    yield tasks[0].results.popleft()
                if tasks[0].is_done:
                    tasks.popleft()
            if tasks:
                self._receive()

    def _receive(self) -> None:
        """Wait for messages of the children, and keep their results."""
        import select

        poll = select.poll()
        by_output = {child.output: child for child in self._all if child.task is not None}
        for output in by_output:
            poll.register(output, select.POLLIN)
        for output, _event in poll.poll():
            child = by_output[output]
            assert child.task is not None
            try:
                for message in child.receive():
                    self._take(message, child, child.task)
            except EOFError:
                self._all.remove(child)
                self._bury(child, child.task)
                self._add()

    def _take(self, message: Message, child: _Child, task: _Task) -> None:
        from abiscan.model.progress import ProgressStep, replay

        if isinstance(message, AbiscanError):
            raise message
        if isinstance(message, str):
            child.reads = message
        elif isinstance(message, ProgressStep):
            assert self._options.progress is not None
            replay(message, self._options.progress)
        elif not (isinstance(message, InputError) and message.path in self._died) and self._is_first(message, task):
            task.results.append(message)
        if isinstance(message, ScannedArtifact):
            child.reads = None
        elif isinstance(message, BatchEnd):
            task.is_done, child.task = True, None

    def _is_first(self, message: Scanned, task: _Task) -> bool:
        """Whether no other batch has reported the file, or this error: a file that grows or shrinks while children
        divide a directory by size may be in the parts of two, and a batch that is repeated repeats its errors."""
        if isinstance(message, ScannedArtifact):
            return self._seen.setdefault(message.display, task) is task
        return not isinstance(message, InputError) or self._seen.setdefault(message, task) is task

    def _bury(self, child: _Child, task: _Task) -> None:
        """Report the file at which a child died, unless memory may suffice for it with one process."""
        end = child.end()
        killed = ", which the system sends when memory is short" if end == "SIGKILL" else ""
        reason = f"the process that read it died ({end}{killed})"
        task.is_done = True
        if end == "SIGKILL" and self._all:  # as by the system, if memory is short
            self.broken.append(task.batch)
            return
        if child.reads is None:
            targets = ", ".join(task.batch.targets)
            task.results.append(InputError(targets, f"{reason}: its members were not read"))
            return
        if not any(isinstance(each, InputError) and each.path == child.reads for each in self._seen):
            task.results.append(InputError(child.reads, f"{reason}: the file was not read"))
        self._died.add(child.reads)
        self._seen[child.reads] = task
        self.broken.append(task.batch)

    def take_broken(self) -> list[Batch]:
        """The artifacts that no batch reported, undivided: a file at which a child died may be gone, which shifts the
        division of the rest. One child is left for them."""
        while len(self._all) > 1:
            self._all.pop().end()
        wholes: dict[tuple[object, ...], list[Batch]] = {}
        for each in self.broken:
            wholes.setdefault((each.targets, each.archives, each.environment), []).append(each)
        self.broken = []
        skip = frozenset(each for each in self._seen if isinstance(each, str))
        return [
            replace(same[0], part=0, parts=1, sources=any(each.sources for each in same), skip=skip)
            for same in wholes.values()
        ]

    def end(self) -> None:
        for child in self._all:
            child.end()


def _work(batches: IO[bytes], messages: IO[bytes], options: ScanOptions, scratches: dict[str, Scratch]) -> NoReturn:
    """Scan batches in the child process until there are no more, and end it."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C and ends this process
    for number in (signal.SIGTERM, signal.SIGHUP):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.SIG_DFL)  # nothing to clean up here

    import pickle
    import time
    import traceback

    from abiscan.model.progress import Relay

    def send(message: Message) -> None:
        data = pickle.dumps(message)
        messages.write(len(data).to_bytes(_LENGTH, "little") + data)
        messages.flush()

    status = 1
    try:
        relay = None if options.progress is None else Relay(send, time.monotonic)
        context = AnalysisContext(replace(options, progress=relay))
        while True:
            try:
                batch: Batch = pickle.load(batches)
            except EOFError:
                break
            scratch = scratches.get(batch.targets[0]) if batch.archives and batch.parts > 1 else None
            try:
                for item in scan_batch(batch, context, send, scratch):
                    if relay is not None and isinstance(item, BatchEnd):
                        relay.at("")
                    send(item)
            except AbiscanError as error:
                send(error)
        status = 0
    except BrokenPipeError:
        pass  # the parent ended
    except MemoryError:
        os.kill(os.getpid(), signal.SIGKILL)  # as the system does: the parent may try again with one process
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)
