"""`abiscan compat`."""

from __future__ import annotations

from typing import Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.comparison import compared_scopes, comparison_output, comparison_parameters
from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS


@click.command(
    params=[click.Argument(["targets"], nargs=-1, required=True, metavar="PATH..."), *comparison_parameters()]
)
@click.pass_context
def compat(ctx: click.Context, /, **given: Any) -> None:
    """List the environments that all PATHs load on.

    These are torch builds, Pythons, GPUs and systems. If one PATH alone excludes an environment, it is printed. PATH is
    a shared object, a wheel or the name of an installed package. Exit status 1: no torch, Python, GPU or
    system suits all of them.
    """
    line = CommandLine(**given)
    from abiscan.compare.compat import find_common_compatibility

    write = comparison_output(line, line.targets)
    scopes, context = compared_scopes(line.targets, line)
    found = find_common_compatibility(scopes, context.index.builds)
    write(found)
    ctx.exit(FAIL if found.conflicts else INCOMPLETE if found.undecided else PASS)
