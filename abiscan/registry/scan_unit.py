"""Scans one unit into its rows and facts. An error in a unit becomes a row, never an exception."""

from __future__ import annotations

import contextlib
import datetime
import faulthandler
import os
import resource
import signal
import threading
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from abiscan import __version__
from abiscan.analysis.batches import Batch
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.merge import finish_containers, merge
from abiscan.analysis.scan_batch import scan_items
from abiscan.analysis.scan_options import ScanOptions
from abiscan.analysis.stored_containers import FactKeeper, StoredContainer, artifacts_of
from abiscan.errors import AbiscanError, UnreadableFile, transient_failures
from abiscan.gate.apply import apply
from abiscan.gate.policy import Policy
from abiscan.inputs import Artifact, Note
from abiscan.inputs import Options as TargetOptions
from abiscan.inputs.archives import expand_source
from abiscan.inputs.byte_source import WatchedBytes
from abiscan.inputs.ranged_bytes import OtherContents
from abiscan.loader import LoaderSettings
from abiscan.model.report import ArtifactVerdict, InputError, Report
from abiscan.registry.table_rows import Row, rows_of, wheel_row
from abiscan.registry.unit import Unit

# Format version of `StoredFacts`.
FACTS_FORMAT = 1


class Work(Struct, frozen=True):
    """The task for every unit of a run.

    Attributes:
        today: decides which ignores of the policy have expired.
        seconds: time limit of a unit. `memory`: limit in bytes beyond what its worker has.
    """

    options: ScanOptions
    policy: Policy = Policy()
    today: datetime.date | None = None
    seconds: float = 900.0
    memory: int = 8 << 30
    keep_facts: bool = True


class StoredFacts(Struct, frozen=True):
    """Stored facts of a unit: containers, read errors and notes."""

    containers: tuple[StoredContainer, ...]
    errors: tuple[InputError, ...]
    notes: tuple[tuple[str, str], ...]
    size: int | None


class Outcome(Struct, frozen=True):
    """The result of a unit.

    Attributes:
        rows: by table, including `wheels` and `facts`.
    """

    path: str
    identity: str | None
    rows: dict[str, list[dict[str, Any]]]


class Worker:
    """Scans units. Index and demangler results are cached between them."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._context = AnalysisContext(work.options)

    def scan(self, unit: Unit) -> Outcome:
        """Scan one unit within the limits."""
        return self._scan_within_limits(unit, lambda meter: self._read(unit, meter))

    def check_stored(self, unit: Unit, facts: bytes) -> Outcome:
        """Check one unit by its stored facts, without reading it."""
        try:
            stored = msgspec.msgpack.decode(facts, type=StoredFacts)
        except msgspec.MsgspecError:
            return self.scan(unit)  # of another abiscan version, or damaged
        return self._scan_within_limits(unit, lambda _meter: self._judge(unit, stored))

    def _scan_within_limits(self, unit: Unit, look: Any) -> Outcome:
        meter = _Meter()
        try:
            with time_limit(self.work.seconds), memory_limit(self.work.memory), transient_failures() as failures:
                outcome: Outcome = look(meter)
            if failures and outcome.rows["errors"]:
                # A read error is no verdict: a later run reads the unit again.
                outcome = failed(unit, f"{failures[0].path}: {failures[0].reason}".removeprefix(f"{unit.display}: "))
        except TimeUp:
            outcome = failed(unit, f"took longer than {self.work.seconds:g} s: given up")
        except MemoryError:
            outcome = failed(unit, f"took more than {self.work.memory >> 20} MiB of memory: given up")
        except OtherContents as error:
            outcome = failed(unit, error.reason)
            outcome.rows["wheels"][0]["hash_checked"] = False
            meter.taken = error.taken
        except UnreadableFile as error:
            outcome = failed(unit, error.reason)
        except (AbiscanError, OSError) as error:
            outcome = failed(unit, " ".join(str(error).split()))
        except Exception as error:  # a defect of abiscan affects one unit only
            outcome = failed(unit, f"abiscan itself failed: {type(error).__name__}: {' '.join(str(error).split())}")
        (row,) = outcome.rows["wheels"]
        row |= meter.row()
        return outcome

    def _read(self, unit: Unit, meter: _Meter) -> Outcome:
        options = self.work.options
        source = unit.open(whole=options.hashes)
        try:
            metered = WatchedBytes(source, meter.read)
            keeper = self._context.keeper = FactKeeper() if self.work.keep_facts else None
            reading = TargetOptions(sources=False, texts_by_name=unit.remote is not None, hashes=options.hashes)
            said: list[InputError | Note] = []
            report = self._report(_noted(expand_source(metered, unit.display, reading), said))
            meter.size = metered.size
            outcome = self._outcome(unit, report, "read")
            (row,) = outcome.rows["wheels"]
            listed = unit.remote is not None and unit.remote.sha256 is not None
            row["hash_checked"] = bool(getattr(source, "checked", False)) if listed else None
            if keeper is not None:
                self._keep(outcome, keeper, said, metered.size)
            return outcome
        finally:
            self._context.keeper = None
            meter.taken = getattr(source, "taken", meter.distinct)
            with contextlib.suppress(AbiscanError, OSError):
                source.close()

    def _keep(self, outcome: Outcome, keeper: FactKeeper, said: list[InputError | Note], size: int) -> None:
        errors = tuple(each for each in said if isinstance(each, InputError))
        notes = tuple((each.path, each.message) for each in said if isinstance(each, Note))
        try:
            blob = msgspec.msgpack.encode(StoredFacts(tuple(keeper.containers()), errors, notes, size))
        except (UnicodeEncodeError, UnreadableFile):
            return  # the name is not valid text: the unit is read again
        if outcome.identity is None:
            return
        kept = {"path": outcome.path, "identity": outcome.identity, "format": FACTS_FORMAT, "facts": blob}
        outcome.rows["facts"].append(kept)

    def _judge(self, unit: Unit, stored: StoredFacts) -> Outcome:
        found: list[Artifact | InputError | Note] = [*stored.errors]
        found += (Note(path, message) for path, message in stored.notes)
        for number, container in enumerate(stored.containers):
            found += artifacts_of(container, f"{number}")
        report = self._report(found)
        outcome = self._outcome(unit, report, "facts")
        outcome.rows["wheels"][0]["size"] = stored.size
        return outcome

    def _report(self, found: Iterable[Artifact | InputError | Note]) -> Report:
        context = self._context
        items = finish_containers(scan_items(found, Batch(()), context), context.known_versions)
        return apply(merge(items, context.rule_infos), self.work.policy, today=self.work.today)

    def _outcome(self, unit: Unit, report: Report, source: str) -> Outcome:
        rows = rows_of(unit.display, report, self._context.index.builds)
        row = wheel_row(unit.display, report)
        # The next run retries unreadable units: a server may have been down.
        identity = None if row["verdict"] == ArtifactVerdict.UNREADABLE.value else unit.identity
        rows["wheels"].append({**row, "identity": identity, "source": source})
        return Outcome(unit.display, identity, rows)


def failed(unit: Unit, message: str) -> Outcome:
    """The outcome of a unit with only an error message."""
    report = Report(__version__, None, (), (InputError(unit.display, message),), ())
    rows = rows_of(unit.display, report, lambda _machine: ())
    row: Row = {**wheel_row(unit.display, report), "identity": None, "source": "read", "gate": "incomplete"}
    rows["wheels"].append({**row, "verdict": ArtifactVerdict.UNREADABLE.value})
    return Outcome(unit.display, None, rows)


def _noted(
    found: Iterable[Artifact | InputError | Note], said: list[InputError | Note]
) -> Iterator[Artifact | InputError | Note]:
    for item in found:
        if not isinstance(item, Artifact):
            said.append(item)
        yield item


# --- cost -------------------------------------------------------------------------------------------------------


class _Meter:
    """The resources that one unit used."""

    def __init__(self) -> None:
        self._began, self._cpu = time.monotonic(), time.process_time()
        self.taken = 0
        self.size: int | None = None
        # Starts and ends of the read ranges, sorted, without overlaps.
        self._starts: list[int] = []
        self._ends: list[int] = []

    def read(self, start: int, end: int) -> None:
        """Count read bytes, each once."""
        first, after = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < after:
            start, end = min(start, self._starts[first]), max(end, self._ends[after - 1])
        self._starts[first:after], self._ends[first:after] = [start], [end]

    @property
    def distinct(self) -> int:
        """Number of bytes."""
        return sum(self._ends) - sum(self._starts)

    def row(self) -> Row:
        found: Row = {
            "bytes_read": self.taken,
            "seconds": time.monotonic() - self._began,
            "cpu_seconds": time.process_time() - self._cpu,
            "peak_memory": _peak(),
        }
        return found if self.size is None else {**found, "size": self.size}


def _peak() -> int:
    """The maximum resident size of this process, in bytes. getrusage includes the memory of the parent for a spawned
    process."""
    with contextlib.suppress(OSError, ValueError), open("/proc/self/status", "rb") as file:
        for line in file:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) << 10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


# --- limits -----------------------------------------------------------------------------------------------------


class TimeUp(BaseException):
    """The time of a unit is over. Not an `Exception`, so that no handler catches it."""


# Seconds until a hanging worker is ended, if Python cannot raise the exception.
_GRACE = 1.5, 5.0


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TimeUp after this many seconds. End the process if that has no effect."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals reach only the main thread; the limit of the engine applies
        return

    def stop(_number: int, _frame: object) -> None:
        raise TimeUp

    before = signal.signal(signal.SIGALRM, stop)
    with open(os.devnull, "w") as nowhere:
        faulthandler.dump_traceback_later(seconds * _GRACE[0] + _GRACE[1], exit=True, file=nowhere)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
            signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def memory_limit(more: int) -> Iterator[None]:
    """Limit the address space of the process to this many bytes beyond its present size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = _address_space() + more
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space() -> int:
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def of_a_registry(options: ScanOptions) -> ScanOptions:
    """Options of a registry run: every known build is checked, and nothing depends on this machine, so that all workers
    of a cluster give the same results."""
    torch = options.torch if options.torch is not None else "declared"
    settings = LoaderSettings(cwd="/")
    return replace(options, torch=torch, environment=None, settings=settings, matrix=True, progress=None, cache=None)
