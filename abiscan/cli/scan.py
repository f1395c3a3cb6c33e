"""`abiscan scan`."""

from __future__ import annotations

import os
from typing import Any

import click
from msgspec.structs import replace

from abiscan.cli import completion
from abiscan.cli.command_line import CommandLine
from abiscan.cli.parameters import EXAMPLES, ScanCommand, select_options
from abiscan.cli.run_scan import run_scan
from abiscan.cli.scan_arguments import OPTIONS
from abiscan.model.versions import is_version


@click.command(
    cls=ScanCommand,
    epilog=EXAMPLES,
    params=[
        click.Argument(["targets"], nargs=-1, metavar="PATH...", shell_complete=completion.targets),
        *select_options(*(option.key for option in OPTIONS)),
    ],
)
@click.pass_context
def scan(ctx: click.Context, /, **given: Any) -> None:
    """Check whether PATH... load; this is the default command.

    PATH is a shared object (any name), a wheel or archive, a directory, a source file or tree, or the name of an
    installed package. NAME==VERSION and the URL of a wheel are fetched by pip, with its configuration.
    """
    ctx.exit(run_scan(_split_target_from_option(CommandLine(**given))))


def _split_target_from_option(line: CommandLine) -> CommandLine:
    """The value of --require-stable-abi is optional: a file name after it is a target."""
    named = line.require_stable_abi
    if named is None or named == "any" or is_version(named) or not os.path.exists(named):
        return line
    return replace(line, require_stable_abi="any", targets=(named, *line.targets))
