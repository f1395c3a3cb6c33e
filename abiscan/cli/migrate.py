"""`abiscan migrate`."""

from __future__ import annotations

from typing import Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.comparison import comparison_output, comparison_parameters
from abiscan.cli.exit_status import INCOMPLETE, PASS
from abiscan.cli.fetched import display_names, local_targets
from abiscan.cli.options import scan_options


@click.command(params=[click.Argument(["target"], metavar="PATH"), *comparison_parameters()])
@click.pass_context
def migrate(ctx: click.Context, /, target: str, **given: Any) -> None:
    """Plan the migration of PATH to torch's stable ABI.

    Lists the counterpart of each symbol, the first release that has it, and where the symbol is used. PATH is a shared
    object, a wheel, a directory, a source file or tree, or the name of an installed package.
    """
    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.plan_migration import plan_migration

    line = CommandLine(**given)
    write = comparison_output(line, (target,))
    (local,) = local_targets((target,), line)
    options = scan_options(line, display_names=display_names((target,), (local,)))
    plan = plan_migration(local, AnalysisContext(options))
    write(plan)
    ctx.exit(INCOMPLETE if plan.errors else PASS)
