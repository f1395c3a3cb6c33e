"""A registry run: units -> an engine -> outcomes -> a store. Read this first."""

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
from abiscan.registry.journal import Record, record_of
from abiscan.registry.run_folder import Asked
from abiscan.registry.scan_unit import Work, failed
from abiscan.registry.store import Run
from abiscan.registry.threads import read_ahead
from abiscan.registry.unit import Unit

# Wheels of which it is said why they could not be read; the tables have all.
_TOLD = 5
# Units that are listed before a worker wants them: what a server takes to list them, nobody waits for.
_LISTED_AHEAD = 1024


class RunProgress(Struct):
    """How a run stands.

    Attributes:
        skipped: units whose rows were there.
        bytes_read, bytes_stored: of the units that were looked at.
        unread: of the first wheels that could not be read: what of it, and why.
        paths: of the units that this process was asked for.
    """

    done: int = 0
    skipped: int = 0
    judged_again: int = 0
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
    facts_of: Callable[[Unit], bytes | None] = lambda _unit: None,
    show: Callable[[RunProgress], None] = lambda _progress: None,
) -> RunProgress:
    """Look at every unit whose rows are not there yet.

    Args:
        facts_of: what an earlier run stored of a unit with these contents.
        show: called after each unit.

    Raises:
        OSError: the store cannot be written; what was through before is kept.
    """
    progress = RunProgress()

    def tasks() -> Iterator[Task]:
        for unit in read_ahead(units, _LISTED_AHEAD):
            if isinstance(unit, InputError):
                _take(record_of(failed(Unit(unit.path, None), unit.message)), run, progress, show)
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
    progress.judged_again += row["source"] == "facts"
    if row["verdict"] == "unreadable":
        progress.unreadable += 1
        if len(progress.unread) < _TOLD and (errors := record.columns.tables.get("errors")):
            _paths, places, reasons = errors
            progress.unread.append((places[0], reasons[0]))
    progress.bytes_read += row.get("bytes_read") or 0
    progress.bytes_stored += row.get("size") or 0
    show(progress)


def asked_of(work: Work) -> Asked:
    """What makes a run this one and no other: what decides its verdicts. Limits do not: a unit over one is retried."""
    options = work.options
    said = {
        "gpus": [each.value for each in options.gpus],
        "driver": None if options.driver is None else options.driver.value,
        "hashes": options.hashes,
        "policy": work.policy,
    }
    return Asked(__version__, index_revision(options.user_index), options.torch, repr(said))


def index_revision(user_index: str | None) -> str:
    """A hash over all release indexes and layouts: with other ones, verdicts may be others."""
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
