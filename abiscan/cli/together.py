"""`abiscan together`."""

from __future__ import annotations

import click

from abiscan.cli.compared import answer, compared_scopes, option_set
from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS
from abiscan.cli.options import strings


@click.command()
@click.argument("targets", nargs=-1, required=True, metavar="A B...")
@option_set
@click.pass_context
def together(ctx: click.Context, /, **given: object) -> None:
    """Say on which torch builds, Pythons, GPUs and systems all of A B... load, and which of them excludes what.

    Each is a shared object, a wheel or the name of an installed package. Exit status 1 where nothing is left on which
    all of them load.
    """
    from abiscan.compare.together_of import together as compare

    scopes, context = compared_scopes(strings(given["targets"]), given)
    found = compare(scopes, context.index.builds)
    answer(found, given)
    ctx.exit(FAIL if found.conflicts else INCOMPLETE if found.undecided else PASS)
