"""`abiscan registry scan|recheck|dashboard|runs`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.exit_status import FAIL, PASS
from abiscan.cli.output import note, safe, write
from abiscan.cli.parameters import CommandGroup, require_posix, select_options
from abiscan.errors import UsageError, require_modules
from abiscan.model.platforms import OperatingSystem
from abiscan.model.words import size_words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abiscan.registry.unit import Unit

_MISSING = "`registry` needs more packages; run: pip install 'abiscan[registry]'"
# Options that both scans have. A run is over many wheels and releases, not over this machine.
_SHARED = ("gpu", "driver", "fail_on", "select", "ignore", "require_torch", "config", "quiet")
_TORCH = "Check against: a release, or declared (default: declared)."
_ENGINE = click.Option(["--engine"], metavar="ENGINE", default="local", help="local (default), ray, or ray:ADDRESS.")
_DIRECTORY = click.Argument(["directory"], metavar="DIR", type=click.Path(exists=True, file_okay=False))


@click.group(cls=CommandGroup)
def registry() -> None:
    """Scan, recheck and chart all wheels of a package index.

    Needs the packages of `abiscan[registry]`.
    """
    require_posix("registry")


@registry.command(
    params=[
        click.Argument(["targets"], nargs=-1, metavar="PATH|URL..."),
        click.Option(["-o", "--output"], metavar="DIR", help="Write tables to DIR; scan every wheel."),
        click.Option(["--resume"], metavar="DIR", help="Continue the tables in DIR; skip the wheels that are done."),
        *select_options("inputs_from", torch=_TORCH, jobs="Processes (default: 1)."),
        _ENGINE,
        click.Option(
            ["--time-limit", "seconds"], metavar="SECONDS", type=click.FloatRange(min=1), help="Limit per wheel."
        ),
        click.Option(
            ["--memory-limit", "mebibytes"], metavar="MIB", type=click.IntRange(min=256), help="Limit per wheel."
        ),
        click.Option(
            ["--latest"], metavar="N", type=click.IntRange(min=1), help="Only the newest N releases of each project."
        ),
        click.Option(
            ["--system", "systems"],
            multiple=True,
            type=click.Choice([each.value for each in OperatingSystem]),
            help="Only wheels for this system; repeatable (default: all).",
        ),
        click.Option(["--retry-errors"], is_flag=True, help="With --resume: read wheels with errors again."),
        *select_options(*_SHARED, "require_stable_abi", "hash"),
    ]
)
@click.pass_context
def scan(
    ctx: click.Context,
    /,
    *,
    output: str | None,
    resume: str | None,
    engine: str,
    seconds: float | None,
    mebibytes: int | None,
    latest: int | None,
    systems: tuple[str, ...],
    retry_errors: bool,
    **given: Any,
) -> None:
    """Scan wheels into tables.

    PATH|URL is a wheel, a directory of wheels, a package index (https://HOST/simple/) or a folder of an object store.
    Needs the packages of `abiscan[registry]`.
    """
    from msgspec.structs import replace

    from abiscan.cli.registry_run import run_registry, work_of
    from abiscan.inputs import read_target_list

    require_modules(_MISSING, "pyarrow")
    from abiscan.registry.stored_facts import FactsOf
    from abiscan.registry.unit import units_of

    line, cwd = CommandLine(**given), os.getcwd()
    listed = [target for name in line.inputs_from for target in read_target_list(name, cwd=cwd)]
    if not line.targets and not listed:
        raise UsageError("name at least one wheel, directory or index (see abiscan registry scan --help)")
    directory = _directory(output, resume)
    work = work_of(line)
    if seconds is not None:
        work = replace(work, seconds=seconds)
    if mebibytes is not None:
        work = replace(work, memory=mebibytes << 20)
    facts = FactsOf(directory) if resume is not None else None
    units = units_of(line.targets, cwd, listed, latest, frozenset(map(OperatingSystem, systems or OperatingSystem)))
    ctx.exit(run_registry(directory, units, work, line, engine=engine, facts=facts, retry_errors=retry_errors))


def _directory(output: str | None, resume: str | None) -> str:
    from abiscan.registry.run_folder import runs_of

    directory = output or resume
    if directory is None or (output or resume) != (resume or output):
        raise UsageError("name one directory for the tables: -o DIR, or --resume DIR to continue")
    if "://" in directory:
        raise UsageError(
            f"{directory}: tables need a directory of this machine; copy it to the store when the run ends"
        )
    if os.path.exists(directory) and not os.path.isdir(directory):
        raise UsageError(f"{directory}: not a directory")
    if output is None and not runs_of(directory):
        raise UsageError(f"--resume {directory}: no run in it; begin one with -o {directory}")
    return directory


@registry.command(
    params=[
        _DIRECTORY,
        *select_options(torch=_TORCH, jobs="Processes (default: 1)."),
        _ENGINE,
        *select_options(*_SHARED),
    ]
)
@click.pass_context
def recheck(ctx: click.Context, /, directory: str, engine: str, **given: Any) -> None:
    """Check the wheels in DIR against another release.

    Uses the facts stored in DIR; reads no wheel.
    """
    from abiscan.cli.registry_run import run_registry, work_of

    require_modules(_MISSING, "pyarrow")
    from abiscan.registry.run_folder import all_wheels, runs_of, runs_with_tables
    from abiscan.registry.run_units import run_key_of
    from abiscan.registry.stored_facts import FactsOf
    from abiscan.registry.unit import Unit

    line = CommandLine(**given)
    work = work_of(line)
    asked = run_key_of(work)
    runs_with_tables(directory)
    if any(run.ended is None and run.asked != asked for run in runs_of(directory)):
        note(
            f"a run in {directory} has not ended; wheels that it has no tables of are not checked: continue it with "
            f"abiscan registry scan PATH... --resume {directory}"
        )
    facts, paths = FactsOf(directory), all_wheels(directory)

    def units() -> Iterator[Unit]:
        stored = set()
        for path, identity in facts.paths():
            stored.add(path)
            yield Unit(path, identity)
        # Nothing is stored about the other paths; they stay in the run.
        for path in paths:
            if path not in stored:
                yield Unit(path, None)

    ctx.exit(run_registry(directory, units(), work, line, engine=engine, facts=facts))


@registry.command(
    params=[
        _DIRECTORY,
        click.Option(
            ["--compare"], nargs=2, metavar="OLD NEW", help="Print the wheels whose verdict changed between two runs."
        ),
        click.Option(
            ["--prune", "keep"], metavar="N", type=click.IntRange(min=1), help="Remove all but the newest N runs."
        ),
    ]
)
@click.pass_context
def runs(ctx: click.Context, /, directory: str, compare: tuple[str, str] | None, keep: int | None) -> None:
    """List, compare or remove the runs in DIR.

    With --compare, exit status 1 if a wheel has a worse verdict.
    """

    require_modules(_MISSING, "pyarrow")
    from abiscan.registry.run_list import remove_runs

    if compare is not None and keep is not None:
        raise UsageError("--compare and --prune exclude each other")
    if keep is not None:
        for info in remove_runs(directory, keep):
            note(f"removed {info.id}")
    elif compare is not None:
        ctx.exit(print_changes(directory, *compare))
    else:
        print_runs(directory)


def print_runs(directory: str) -> None:
    """Print one line per run, oldest first.

    Raises:
        UsageError: there is none.
    """
    from abiscan.registry.run_list import listed_runs

    found = listed_runs(directory)
    if not found:
        raise UsageError(f"{directory}: no run in it (make one with abiscan registry scan PATH... -o {directory})")
    for each in found:
        info = each.info
        counts = ", ".join(f"{number} {verdict}" for verdict, number in each.verdicts.items()) or "no wheels"
        state = f"ended {info.ended}" if info.ended is not None else "not ended"
        torch = info.asked.torch or "declared"
        click.echo(safe(f"{info.id}  torch {torch}  {counts}  {size_words(each.size)}  {state}"))


def print_changes(directory: str, old: str, new: str) -> int:
    """Print the wheels with changed verdicts and return the exit status."""
    from abiscan.registry.run_list import compare_runs

    found = compare_runs(directory, old, new)
    for title, changes in (("worse", found.worse), ("better", found.better)):
        for path, before, now in changes:
            click.echo(safe(f"{title}: {path}: {before} -> {now}"))
    for title, paths in (("only in the older run", found.only_old), ("only in the newer run", found.only_new)):
        for path in paths:
            click.echo(safe(f"{title}: {path}"))
    for path in found.unread:
        click.echo(safe(f"not compared, unreadable in one run: {path}"))
    note(f"{len(found.worse)} worse, {len(found.better)} better")
    return FAIL if found.worse else PASS


@registry.command(
    params=[
        _DIRECTORY,
        click.Option(["--run"], metavar="ID", help="Run to show in detail (default: the newest finished one)."),
        click.Option(["-o", "--output"], metavar="FILE", help="Output file (default: DIR/dashboard.html)."),
    ]
)
def dashboard(directory: str, run: str | None, output: str | None) -> None:
    """Write one HTML page over the runs in DIR.

    The SQL views behind it are written to DIR/dashboard.sql.
    """

    require_modules(_MISSING, "duckdb")
    from abiscan.registry.dashboard_view import dashboard_view, sql
    from abiscan.report.dashboard import render

    page = output or os.path.join(directory, "dashboard.html")
    write(page, render(dashboard_view(directory, run)))
    write(os.path.join(directory, "dashboard.sql"), sql())
    note(f"wrote {page}")
