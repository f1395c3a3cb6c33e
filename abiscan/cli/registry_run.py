"""Runs over many wheels, with tables as output."""

from __future__ import annotations

import contextlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS
from abiscan.cli.options import driver_of, gpus_of, index_directory, policy_of, today
from abiscan.cli.output import note, progress
from abiscan.errors import AbiscanError, UsageError
from abiscan.model.words import counted, size_words

if TYPE_CHECKING:
    from abiscan.cli.command_line import CommandLine
    from abiscan.model.report import InputError
    from abiscan.registry.run_units import RunProgress
    from abiscan.registry.scan_unit import Work
    from abiscan.registry.store import Run
    from abiscan.registry.stored_facts import FactsOf
    from abiscan.registry.unit import Unit


# Between two progress lines in a log.
_LOG_SECONDS = 60.0


def run_registry(
    directory: str,
    units: Iterable[Unit | InputError],
    work: Work,
    line: CommandLine,
    *,
    engine: str,
    facts: FactsOf | None,
    retry_errors: bool = False,
) -> int:
    """Scan these wheels, print a summary and return the exit status.

    Args:
        facts: stored facts of earlier runs; None to start a new run.
        retry_errors: whether to read wheels with errors again.

    Raises:
        UsageError: unknown engine, or another run is writing to the directory.
    """
    from abiscan.registry.engines import engine_of
    from abiscan.registry.run_folder import runs_of
    from abiscan.registry.run_units import run_key_of, run_units
    from abiscan.registry.store import open_run

    workers = engine_of(engine, line.jobs or 1)
    earlier = len(runs_of(directory)) if facts is None else 0
    run = open_run(directory, run_key_of(work), now(), fresh=facts is None)
    retried = run.forget_errors() if retry_errors else frozenset()
    if earlier:
        held = counted(earlier, "earlier run")
        note(f"{directory} has {held}; this is a new one (--resume {directory} continues)")
    bar = None if line.quiet else progress("wheels")

    shown = time.monotonic()

    def show(state: RunProgress) -> None:
        nonlocal shown
        if bar is not None:
            bar.at(f"{state.skipped} done before, {state.unreadable} unreadable")
        elif not line.quiet and time.monotonic() - shown >= _LOG_SECONDS:
            shown = time.monotonic()
            counts = f"{state.done} wheels done, {state.skipped} done before, {state.unreadable} unreadable"
            note(f"{now()}: {counts}")

    with _kept(run, directory):
        try:
            found = run_units(
                units,
                run,
                workers,
                work,
                facts_of=lambda unit: (
                    None if facts is None or unit.display in retried else facts.of(unit.display, unit.identity)
                ),
                show=show,
            )
            run.finish(now())
        finally:
            if bar is not None:
                bar.at("")
    return _summarise(run, found, line)


def work_of(line: CommandLine) -> Work:
    """The options as a task for every wheel.

    Raises:
        UsageError: `--torch` names a torch that only this machine has.
    """
    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.loader import LoaderSettings
    from abiscan.registry.scan_unit import Work, of_a_registry

    torch = line.torch
    if torch is not None and (torch == "installed" or os.sep in torch or torch.endswith(".whl")):
        raise UsageError(
            f"--torch {torch}: registry runs check against releases (2.6.0, declared); `abiscan releases add` adds "
            "another torch to your index"
        )
    policy, notes = policy_of(line)
    for each in notes:
        note(each)
    if policy.baseline is not None:
        raise UsageError("registry runs have no baseline: remove it from the configuration")
    options = of_a_registry(
        ScanOptions(
            torch,
            None,
            LoaderSettings(cwd="/"),
            hashes=line.hash,
            user_index=index_directory(),
            gpus=gpus_of(line.gpu),
            driver=driver_of(line),
        )
    )
    # Report an unknown release once, not for every wheel.
    AnalysisContext(options).target.run_torch()
    return Work(options, policy, today() if policy.ignores else None)


def now() -> str:
    """UTC with milliseconds: orders the runs of one second."""
    import datetime

    return datetime.datetime.now(tz=datetime.UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextlib.contextmanager
def _kept(run: Run, directory: str) -> Iterator[None]:
    """Keep finished wheels however the run ends, and print how to continue. Nothing is kept after a usage error."""
    try:
        yield
    except BaseException as error:
        refused = isinstance(error, AbiscanError)
        if isinstance(error, OSError) and not error.filename:
            error.filename = directory
        with contextlib.suppress(OSError):
            run.discard() if refused else run.close()
        if isinstance(error, (KeyboardInterrupt, SystemExit, OSError)) or (refused and run.done):
            stay = counted(len(run.done), "wheel is", "wheels are")
            note(f"{stay} kept; continue with --resume {directory}")
        raise


def _summarise(run: Run, found: RunProgress, line: CommandLine) -> int:
    """Print a summary of the requested wheels, those of earlier runs included, and return the exit status."""
    from abiscan.registry.run_folder import wheels_of

    rows = wheels_of(run.directory)
    run.close()
    asked = [row for path, row in rows.items() if path in found.paths]
    gates = {str(row["gate"]) for row in asked}
    for path, why in found.unread:
        note(f"{path}: {why}")
    if found.unreadable > len(found.unread) > 0:
        more = counted(found.unreadable - len(found.unread), "more wheel")
        note(f"and {more} could not be read; the table errors has the reasons")
    if not line.quiet:
        verdicts = Counter(str(row["verdict"]) for row in asked)
        counts = ", ".join(f"{number} {verdict}" for verdict, number in sorted(verdicts.items())) or "none"
        before = f" ({found.skipped} of them before)" if found.skipped else ""
        read = f"; {size_words(found.bytes_read)} read of {size_words(found.bytes_stored)}" if found.done else ""
        wheels = counted(len(asked), "wheel")
        others = ""
        if len(asked) != len(rows):
            wheels, others = f"of this command's {wheels}", f"; {len(rows)} in the tables"
        note(f"{wheels}{before}: {counts}{read}{others}; {run.directory}")
    if "fail" in gates:
        return FAIL
    return INCOMPLETE if "incomplete" in gates or not gates else PASS
