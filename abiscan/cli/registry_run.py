"""`abiscan scan` over many wheels, into tables."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import click

from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS
from abiscan.cli.options import driver_of, gpus_of, index_directory, policy_of, today
from abiscan.cli.output import progress, safe
from abiscan.errors import AbiscanError, UsageError

if TYPE_CHECKING:
    from abiscan.cli.command_line import CommandLine
    from abiscan.registry.run_units import RunProgress
    from abiscan.registry.scan_unit import Work
    from abiscan.registry.store import Run

# Options of `scan` that ask for something of one report, or of this machine.
_NOT_HERE = {
    "python": "tables are of releases, and the same on every machine",
    "root": "name the wheels themselves",
    "sources": "tables are of binaries",
    "history": "abiscan dashboard has earlier runs",
    "imports": "they have torch's and those that do not resolve",
    "baseline": "it is of one report",
    "write_baseline": "it is of one report",
}


def scan_registry(line: CommandLine) -> int:
    """The scan, and its exit status.

    Raises:
        UsageError: an option does not go with tables, or what they need is not installed.
    """
    from abiscan.inputs import read_target_list
    from abiscan.registry.run_units import asked_of, run_units
    from abiscan.registry.unit import units_of

    needs("pyarrow")
    from abiscan.registry.engines import engine_of
    from abiscan.registry.store import open_run
    from abiscan.registry.stored_facts import FactsOf

    for option, why in _NOT_HERE.items():
        if getattr(line, option):
            raise UsageError(
                f"--{'source' if option == 'sources' else option.replace('_', '-')} does not go with tables: {why}"
            )
    cwd = os.getcwd()
    targets = line.targets
    listed = [target for name in line.lists for target in read_target_list(name, cwd=cwd)]
    if not targets and not listed:
        raise UsageError("name at least one wheel, directory or index (see abiscan scan --help)")
    resume = line.resume
    directory = _directory(line)
    work = work_of(line)
    engine = engine_of(line.engine or "local", line.jobs or 1)
    units = units_of(targets, cwd, listed)
    facts = FactsOf(directory) if resume is not None else None
    run = open_run(directory, asked_of(work), now(), fresh=resume is None)
    with kept(run, directory), shown(line) as show:
        found = run_units(
            units,
            run,
            engine,
            work,
            facts_of=lambda unit: None if facts is None else facts.of(unit.display, unit.identity),
            show=show,
        )
        run.finish(now())
    return told(run, found, line)


def work_of(line: CommandLine) -> Work:
    """What the options ask of every wheel.

    Raises:
        UsageError: `--torch` names what only this machine has.
    """
    from msgspec.structs import replace

    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.loader import LoaderSettings
    from abiscan.registry.scan_unit import Work, of_a_registry

    torch = line.torch
    if torch is not None and (torch == "installed" or os.sep in torch or torch.endswith(".whl")):
        raise UsageError(
            f"--torch {torch}: tables are of releases (2.6.0, declared); `abiscan releases add` takes another torch "
            "into your index"
        )
    policy, notes = policy_of(line)
    for note in notes:
        click.echo(f"abiscan: {safe(note)}", err=True)
    if policy.baseline is not None:
        raise UsageError("a baseline does not go with tables: it is of one report")
    options = of_a_registry(
        ScanOptions(
            torch,
            None,
            LoaderSettings(cwd="/"),
            hashes=line.hashes,
            user_index=index_directory(),
            within=policy.require_torch,
            gpus=gpus_of(line.gpus),
            driver=driver_of(line),
        )
    )
    # An unknown release is an error of the command line, and not of every wheel.
    AnalysisContext(options).target.of_run()
    work = Work(options, policy, today() if policy.ignores else None)
    if line.time_limit is not None:
        work = replace(work, seconds=line.time_limit)
    if line.memory_limit is not None:
        work = replace(work, memory=line.memory_limit << 20)
    return work


def needs(module: str) -> None:
    """Say what to install.

    Raises:
        UsageError: it is not here.
    """
    import importlib.util

    if importlib.util.find_spec(module) is None:
        raise UsageError("tables need what is not installed: pip install 'abiscan[registry]'")


def now() -> str:
    """UTC, to the millisecond: runs of one second are told apart, and which is newer."""
    import datetime

    return datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _directory(line: CommandLine) -> str:
    from abiscan.registry.run_folder import runs_of

    resume, formats = line.resume, line.formats
    named = {each.partition(":")[2] for each in formats if each.partition(":")[0] == "parquet"}
    others = [each for each in formats if each.partition(":")[0] != "parquet"]
    if others:
        raise UsageError(f"-f {others[0]} does not go with tables: `abiscan scan` of the wheel itself writes a report")
    if "" in named:
        raise UsageError("-f parquet needs a directory: -f parquet:DIR")
    directories = named | ({resume} if resume is not None else set())
    if len(directories) != 1:
        raise UsageError("one directory for the tables: " + ", ".join(sorted(directories)))
    (directory,) = directories
    if "://" in directory:
        raise UsageError(
            f"{directory}: tables need a directory of this machine; copy it to the store when the run ends"
        )
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise UsageError(f"{directory}: not a directory")
    if resume is not None and not named and not runs_of(directory):
        raise UsageError(f"--resume {directory}: no run in it; begin one with -f parquet:{directory}")
    return directory


@contextlib.contextmanager
def shown(line: CommandLine) -> Iterator[Callable[[RunProgress], None]]:
    """Progress on a terminal."""
    bar = None if line.quiet else progress("wheels")

    def tell(state: RunProgress) -> None:
        if bar is not None:
            bar.at(f"{state.skipped} done before, {state.unreadable} unreadable")

    try:
        yield tell
    finally:
        if bar is not None:
            bar.at("")


@contextlib.contextmanager
def kept(run: Run, directory: str) -> Iterator[None]:
    """Whatever ends the run, what was through is kept, and how to go on is said. What was refused leaves nothing."""

    def end(_number: int, _frame: object) -> None:
        raise SystemExit(128 + signal.SIGTERM)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    except BaseException as error:
        refused = isinstance(error, AbiscanError)
        if isinstance(error, OSError) and not error.filename:
            error.filename = directory
        with contextlib.suppress(OSError):
            run.discard() if refused else run.close()
        if isinstance(error, (KeyboardInterrupt, SystemExit, OSError)) or (refused and run.done):
            number = len(run.done)
            stay = "1 wheel is" if number == 1 else f"{number} wheels are"
            click.echo(f"abiscan: {stay} kept; go on with --resume {directory}", err=True)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def told(run: Run, found: RunProgress, line: CommandLine) -> int:
    """What the command asked for in a line, and the exit status over that: of what was done before, too."""
    from abiscan.registry.run_folder import wheels_of
    from abiscan.report.wording import counted

    rows = wheels_of(run.directory)
    run.close()
    asked = [row for path, row in rows.items() if path in found.paths]
    gates = {str(row["gate"]) for row in asked}
    if not line.quiet:
        verdicts = Counter(str(row["verdict"]) for row in asked)
        counts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items())) or "none"
        before = f" ({found.skipped} of them before)" if found.skipped else ""
        read = f"; {_size(found.bytes_read)} read of {_size(found.bytes_stored)}" if found.done else ""
        wheels = counted(len(asked), "wheel")
        others = ""
        if len(asked) != len(rows):
            wheels, others = f"of this command's {wheels}", f"; {len(rows)} in the tables"
        for path, why in found.unread:
            click.echo(f"abiscan: {safe(f'{path}: {why}')}", err=True)
        if found.unreadable > len(found.unread) > 0:
            more = counted(found.unreadable - len(found.unread), "more wheel")
            click.echo(f"abiscan: and {more} could not be read: the table errors says why", err=True)
        click.echo(f"abiscan: {wheels}{before}: {counts}{read}{others}; {run.directory}", err=True)
        sys.stderr.flush()
    if "fail" in gates:
        return FAIL
    return INCOMPLETE if "incomplete" in gates or not gates else PASS


def _size(number: int) -> str:
    from abiscan.inputs.unpacked import size_words

    return size_words(number)
