"""A registry run: units -> an engine -> outcomes -> a store. Start reading here."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

from msgspec import Struct

from abiscan import __version__
from abiscan.data import data_file
from abiscan.model.report import InputError
from abiscan.registry.engines import Engine, Task
from abiscan.registry.journal import Record, serialize_outcome
from abiscan.registry.run_folder import RunKey
from abiscan.registry.scan_unit import Work, failed
from abiscan.registry.store import Run
from abiscan.registry.threads import read_ahead
from abiscan.registry.unit import Unit

# Number of unreadable wheels in the summary; the tables have all.
_LISTED_ERRORS = 5
# Number of units to list ahead, so that workers need not wait for the listing of a server.
_LISTED_AHEAD = 1024


class RunProgress(Struct):
    """Progress of a run.

    Attributes:
        skipped: units that already have rows.
        bytes_read, bytes_stored: of the scanned units.
        unread: (what, why) of the first unreadable wheels.
        paths: the units requested from this process.
    """

    done: int = 0
    skipped: int = 0
    unreadable: int = 0
    bytes_read: int = 0
    bytes_stored: int = 0
    unread: list[tuple[str, str]] = []
    paths: set[str] = set()


def run_units(
    units: Iterable[Unit | InputError],
    run: Run,
    engine: Engine,
    work: Work,
    *,
    facts_of: Callable[[Unit], bytes | None],
    show: Callable[[RunProgress], None],
) -> RunProgress:
    """Scan every unit that has no rows yet.

    Args:
        facts_of: stored facts of a unit with the same contents.
        show: called after each unit.

    Raises:
        OSError: the store cannot be written; finished units are kept.
    """
    progress = RunProgress()

    def tasks() -> Iterator[Task]:
        for unit in read_ahead(units, _LISTED_AHEAD):
            if isinstance(unit, InputError):
                _take(serialize_outcome(failed(Unit(unit.path, None), unit.message)), run, progress, show)
            elif run.has(unit.display, unit.identity):
                progress.skipped += 1
                progress.paths.add(unit.display)
            else:
                yield Task(unit, facts_of(unit))

    for record in engine(tasks(), work):
        _take(record, run, progress, show)
    return progress


def _take(record: Record, run: Run, progress: RunProgress, show: Callable[[RunProgress], None]) -> None:
    run.add(record)
    row = record.wheel
    progress.done += 1
    progress.paths.add(record.path)
    if row["verdict"] == "unreadable":
        progress.unreadable += 1
        if len(progress.unread) < _LISTED_ERRORS and (errors := record.columns.get("errors")):
            _paths, places, reasons = errors
            progress.unread.append((places[0], reasons[0]))
    progress.bytes_read += row.get("bytes_read") or 0
    progress.bytes_stored += row.get("size") or 0
    show(progress)


def run_key_of(work: Work) -> RunKey:
    """The options that identify a run: those that determine its verdicts. Limits do not, since a unit over one is
    retried."""
    options = work.options
    said = {
        "gpus": [each.value for each in options.gpus],
        "driver": None if options.driver is None else options.driver.value,
        "hashes": options.hashes,
        "policy": work.policy,
    }
    return RunKey(__version__, index_revision(options.user_index), options.torch, repr(said))


def index_revision(user_index: str | None) -> str:
    """A hash of all release indexes and layouts: a change may change verdicts."""
    found = sha256()
    files = sorted(glob.glob(os.path.join(glob.escape(os.path.dirname(data_file("releases.idx"))), "*.idx")))
    if user_index is not None:
        files += sorted(glob.glob(os.path.join(glob.escape(user_index), "*")))
    for path in files:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                while block := file.read(1 << 20):
                    found.update(block)
    return found.hexdigest()[:16]
