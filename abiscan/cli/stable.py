"""`abiscan stable`."""

from __future__ import annotations

from typing import Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.comparison import answer, option_set
from abiscan.cli.exit_status import INCOMPLETE, PASS
from abiscan.cli.fetched import called, local_targets
from abiscan.cli.options import scan_options


@click.command()
@click.argument("target")
@option_set
@click.pass_context
def stable(ctx: click.Context, /, target: str, form: str, **given: Any) -> None:
    """Plan the way of TARGET to torch's stable ABI: what to write instead of each name, since which release, and where.

    TARGET is a shared object, a wheel, a directory, a source file or tree, or the name of an installed package.
    """
    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.plan_stable import stable_plan

    line = CommandLine(**given)
    (local,) = local_targets((target,), line)
    options = scan_options(line, called=called((target,), (local,)))
    plan = stable_plan(local, AnalysisContext(options))
    answer(plan, form, line)
    ctx.exit(INCOMPLETE if plan.errors else PASS)
