"""`abiscan stable`."""

from __future__ import annotations

import click

from abiscan.cli.compared import answer, option_set
from abiscan.cli.exit_status import INCOMPLETE, PASS
from abiscan.cli.fetched import called, local_targets
from abiscan.cli.options import scan_options


@click.command()
@click.argument("target")
@option_set
@click.pass_context
def stable(ctx: click.Context, /, target: str, **given: object) -> None:
    """Plan the way of TARGET to torch's stable ABI: what to write instead of each name, since which release, and where.

    TARGET is a shared object, a wheel, a directory, a source file or tree, or the name of an installed package.
    """
    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.plan_stable import stable_plan

    (local,) = local_targets((target,), given)
    options = scan_options(given, called=called((target,), (local,)))
    plan = stable_plan(local, AnalysisContext(options))
    answer(plan, given)
    ctx.exit(INCOMPLETE if plan.errors else PASS)
