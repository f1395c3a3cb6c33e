"""`abiscan scan`."""

from __future__ import annotations

import os
from typing import Any

import click
from msgspec.structs import replace

from abiscan.cli import completion
from abiscan.cli.command_line import CommandLine
from abiscan.cli.examples import EXAMPLES
from abiscan.cli.run_scan import run_scan
from abiscan.cli.scan_arguments import OPTIONS, Option
from abiscan.model.versions import is_version

_COMPLETIONS = {
    "torch": completion.torches,
    "formats": completion.formats,
    "select": completion.rules,
    "ignore": completion.rules,
}


def _parameter(option: Option) -> click.Option:
    if option.is_flag:
        return click.Option([*option.names, option.key], is_flag=True, help=option.help, hidden=option.hidden)
    kind: Any = None
    if option.choices:
        kind = click.Choice(option.choices)
    elif option.least is not None:
        kind = (click.IntRange if option.whole else click.FloatRange)(min=option.least)
    more: dict[str, Any] = {} if option.bare is None else {"is_flag": False, "flag_value": option.bare}
    if option.default is not None:
        more["default"] = option.default
    return click.Option(
        [*option.names, option.key],
        type=kind,
        metavar=option.metavar,
        multiple=option.repeats,
        help=option.help,
        shell_complete=_COMPLETIONS.get(option.key),
        **more,
    )


@click.command(
    epilog=EXAMPLES,
    params=[
        click.Argument(["targets"], nargs=-1, metavar="TARGET...", shell_complete=completion.targets),
        *map(_parameter, OPTIONS),
    ],
)
@click.pass_context
def scan(ctx: click.Context, /, **given: Any) -> None:
    """Say whether TARGET... load, why not, and what to do.

    TARGET is a shared object (any name), a wheel or archive, a directory, a source file or tree, or the name of an
    installed package. NAME==VERSION and the URL of a wheel are fetched, by pip and as its configuration says.
    """
    ctx.exit(run_scan(_split_target_from_option(CommandLine(**given))))


def _split_target_from_option(line: CommandLine) -> CommandLine:
    """The release behind --require-stable-abi may be left out: a file that stands there is a target."""
    named = line.require_stable_abi
    if named is None or named == "any" or is_version(named) or not os.path.exists(named):
        return line
    return replace(line, require_stable_abi="any", targets=(named, *line.targets))
