"""Commands and options for click: options from one table, help in groups."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import click

from abiscan.cli import completion
from abiscan.cli.scan_arguments import GROUPS, OPTIONS, Option
from abiscan.errors import UsageError

_COMPLETIONS = {
    "torch": completion.torches,
    "format": completion.formats,
    "select": completion.rules,
    "ignore": completion.rules,
}

EXAMPLES = """\b
Examples:
  abiscan dist/*.whl --require-torch '>=2.6'    Can these wheels ship?
  abiscan explain < build.log                   Why does it fail?
"""


def select_options(*keys: str, **helps: str) -> list[click.Parameter]:
    """The options with these keys, and those of `helps` with other help texts, in the order of the table."""
    return [
        _parameter(option, helps.get(option.key, option.help))
        for option in OPTIONS
        if option.key in keys or option.key in helps
    ]


def _parameter(option: Option, text: str) -> click.Option:
    more: dict[str, Any] = {"count": option.counts}
    if option.is_flag and not option.counts:
        more["is_flag"] = True
    if option.choices:
        more["type"] = click.Choice(option.choices)
    elif option.minimum is not None:
        more["type"] = click.IntRange(min=option.minimum)
    if option.bare is not None:
        # Only for these: with `is_flag=False`, click refuses a value that begins with a dash.
        more |= {"is_flag": False, "flag_value": option.bare}
    if option.default is not None:
        more["default"] = option.default
    return click.Option(
        [*option.names.split(), option.key],
        metavar=option.metavar,
        multiple=option.repeats,
        help=text,
        hidden=option in GROUPS[""],
        shell_complete=_COMPLETIONS.get(option.key) if text == option.help else None,
        **more,
    )


class ScanCommand(click.Command):
    """A command whose help groups options as the table does."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups = {option.key: group for group, members in GROUPS.items() for option in members}
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS if group}
        for param in self.get_params(ctx):
            row = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if row is not None:
                rows[groups.get(param.name or "", "More")].append(row)
        for group, members in rows.items():
            with formatter.section(group):
                formatter.write_dl(members)


class CommandGroup(click.Group):
    """Lists commands in groups, each with the whole first sentence of its help.

    Attributes:
        titles: title of each group -> its commands.
    """

    titles: Mapping[str, Sequence[str]] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Commands only; the usage line mentions the options."""
        width = max(map(len, self.list_commands(ctx)))
        formatter.write_paragraph()
        for title, names in (self.titles or {"Commands": self.list_commands(ctx)}).items():
            formatter.write_heading(title)
            commands = [(name, self.get_command(ctx, name)) for name in names]
            with formatter.indentation():
                formatter.write_dl([(name.ljust(width), _summary(each)) for name, each in commands if each is not None])


def _summary(command: click.Command) -> str:
    """The first paragraph of the help, which is one sentence."""
    return " ".join((command.help or "").split("\n\n")[0].split()).removesuffix(".")


def require_posix(command: str) -> None:
    """Raise UsageError on Windows, for a command that uses signals and locks of POSIX."""
    if os.name != "posix":
        raise UsageError(f"`abiscan {command}` needs Linux or macOS; `abiscan scan` and `abiscan explain` run here")
