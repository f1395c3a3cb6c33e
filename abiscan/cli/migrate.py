"""`abiscan migrate`."""

from __future__ import annotations

import os
from typing import Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.comparison import comparison_output, comparison_parameters
from abiscan.cli.exit_status import INCOMPLETE, PASS
from abiscan.cli.fetched import display_names, local_targets
from abiscan.cli.options import scan_options
from abiscan.cli.parameters import select_options

_BASELINE = select_options(baseline="JSON of an earlier run (-f json:FILE): print the progress since.")


@click.command(params=[click.Argument(["target"], metavar="PATH"), *comparison_parameters(), *_BASELINE])
@click.pass_context
def migrate(ctx: click.Context, /, target: str, **given: Any) -> None:
    """Plan the migration of PATH to torch's stable ABI.

    Lists the counterpart of each symbol, the first release that has it, and where the symbol is used; for each file
    what is left. PATH is a shared object, a wheel, a directory, a source file or tree, or the name of an installed
    package.
    """
    from msgspec.structs import replace

    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.plan_migration import plan_migration
    from abiscan.compare.source_rewrites import find_rewrites

    line = CommandLine(**given)
    write = comparison_output(line, (target, *([line.baseline] if line.baseline is not None else [])))
    earlier = None
    if line.baseline is not None:
        from abiscan.compare.earlier_plan import read_earlier_plan

        earlier = read_earlier_plan(line.baseline)
    (local,) = local_targets((target,), line)
    options = scan_options(line, display_names=display_names((target,), (local,)))
    plan = plan_migration(local, AnalysisContext(options))
    write(replace(plan, earlier=earlier, rewrites=tuple(find_rewrites(local, os.getcwd()))))
    ctx.exit(INCOMPLETE if plan.errors else PASS)
