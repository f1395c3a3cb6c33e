"""`abiscan diff`."""

from __future__ import annotations

from typing import Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.comparison import compared_scopes, comparison_output, comparison_parameters
from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS


@click.command(params=[click.Argument(["old"]), click.Argument(["new"]), *comparison_parameters()])
@click.pass_context
def diff(ctx: click.Context, /, old: str, new: str, **given: Any) -> None:
    """Compare two files, wheels or packages.

    One line for each change, the most important first: compatibility (torch builds, Pythons, GPUs, systems),
    requirements, contents. Exit status 1: NEW is compatible with less than OLD.
    """
    line = CommandLine(**given)
    from abiscan.compare.diff import find_changes

    write = comparison_output(line, (old, new))
    (before, after), context = compared_scopes((old, new), line)
    found = find_changes(before, after, context.index.builds, context.readable)
    write(found)
    ctx.exit(FAIL if found.regressed else INCOMPLETE if found.undecided else PASS)
