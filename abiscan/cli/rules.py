"""`abiscan rules`."""

from __future__ import annotations

import sys

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.options import style_for
from abiscan.errors import UsageError


@click.command()
@click.argument("rule", required=False, metavar="[ID]")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text")
def rules(rule: str | None, form: str) -> None:
    """List the rules; with ID, one rule in full."""
    from abiscan.cli.every_rule import every_rule
    from abiscan.report import rules_text

    infos = every_rule()
    if rule is not None:
        infos = tuple(info for info in infos if info.id == rule)
        if not infos:
            import difflib

            known = [info.id for info in every_rule()]
            near = difflib.get_close_matches(rule, known, n=1)
            raise UsageError(f"no rule {rule!r}" + (f"; did you mean {near[0]}?" if near else "; see abiscan rules"))
    width = style_for(CommandLine(), sys.stdout).width
    click.echo(rules_text.render(infos, in_full=rule is not None, as_json=form == "json", width=width), nl=False)
