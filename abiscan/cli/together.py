"""`abiscan together`."""

from __future__ import annotations

from typing import Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.comparison import answer, compared_scopes, option_set
from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="A B...")
@option_set
@click.pass_context
def together(ctx: click.Context, /, form: str, **given: Any) -> None:
    """Say on which torch builds, Pythons, GPUs and systems all of A B... load, and which of them excludes what.

    Each is a shared object, a wheel or the name of an installed package. Exit status 1 where nothing is left on which
    all of them load.
    """
    line = CommandLine(**given)
    from abiscan.compare.compat import find_common_compatibility

    scopes, context = compared_scopes(line.targets, line)
    found = find_common_compatibility(scopes, context.index.builds)
    answer(found, form, line)
    ctx.exit(FAIL if found.conflicts else INCOMPLETE if found.undecided else PASS)
