"""`abiscan diff`."""

from __future__ import annotations

from typing import Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.comparison import answer, compared_scopes, option_set
from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS


@click.command()
@click.argument("old")
@click.argument("new")
@option_set
@click.pass_context
def diff(ctx: click.Context, /, old: str, new: str, form: str, **given: Any) -> None:
    """Say what changed from OLD to NEW: files, wheels or installed packages.

    A line a change, the most important first: what it works on (torch builds, Pythons, GPUs, systems), what it
    requires, what is in it. Exit status 1 where NEW works on less than OLD.
    """
    line = CommandLine(**given)
    from abiscan.compare.diff import find_changes

    (before, after), context = compared_scopes((old, new), line)
    found = find_changes(before, after, context.index.builds, context.readable)
    answer(found, form, line)
    ctx.exit(FAIL if found.regressed else INCOMPLETE if found.undecided else PASS)
