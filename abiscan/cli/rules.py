"""`abiscan rules`."""

from __future__ import annotations

from typing import Any

import click

from abiscan.cli import completion
from abiscan.cli.command_line import CommandLine
from abiscan.cli.options import rules_of
from abiscan.cli.output import outputs_of, write_outputs
from abiscan.cli.parameters import select_options


@click.command(
    params=[
        click.Argument(["rule"], required=False, metavar="[ID]", shell_complete=completion.rules),
        *select_options(format="text, json; repeatable."),
    ]
)
def rules(rule: str | None, **given: Any) -> None:
    """List the rules; with ID, print one rule in full."""
    from abiscan.cli.every_rule import every_rule, severities
    from abiscan.report import rules_text

    line = CommandLine(**given)
    outputs = outputs_of(line.format, ("text", "json"))
    names = rules_of([rule], "rules") if rule is not None else None
    infos = tuple(info for info in every_rule() if names is None or info.id in names)
    write_outputs(
        outputs,
        line,
        lambda form, style: rules_text.render(
            infos, severities(), in_full=rule is not None, as_json=form == "json", width=style.width
        ),
    )
