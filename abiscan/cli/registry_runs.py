"""Output of `abiscan registry runs`."""

from __future__ import annotations

import click

from abiscan.cli.exit_status import FAIL, PASS
from abiscan.cli.output import note, safe
from abiscan.errors import UsageError
from abiscan.model.words import size_words
from abiscan.registry.run_list import compare_runs, listed_runs, remove_runs


def print_runs(directory: str) -> None:
    """Print one line per run, oldest first.

    Raises:
        UsageError: there is none.
    """
    found = listed_runs(directory)
    if not found:
        raise UsageError(f"{directory}: no run in it (make one with abiscan registry scan PATH... -o {directory})")
    for each in found:
        info = each.info
        counts = ", ".join(f"{number} {verdict}" for verdict, number in each.verdicts.items()) or "no wheels"
        state = f"ended {info.ended}" if info.ended is not None else "not ended"
        torch = info.asked.torch or "declared"
        click.echo(safe(f"{info.id}  torch {torch}  {counts}  {size_words(each.size)}  {state}"))


def prune(directory: str, keep: int) -> None:
    """Remove old runs and print their names."""
    for info in remove_runs(directory, keep):
        note(f"removed {info.id}")


def print_changes(directory: str, old: str, new: str) -> int:
    """Print the wheels with changed verdicts and return the exit status."""
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
