"""`abiscan env`."""

from __future__ import annotations

import os
from typing import Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.comparison import comparison_output
from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS
from abiscan.cli.options import file_system, scan_options
from abiscan.cli.output import print_stderr
from abiscan.cli.parameters import select_options


@click.command(
    params=[
        click.Argument(["former"], required=False, metavar=""),
        *select_options(
            "python",
            "root",
            "quiet",
            "color",
            torch="Check an upgrade to this torch: a release (2.11.0, 2.6.0+cu124) or a path.",
            format="text, json, markdown, html; repeatable.",
            jobs="Processes (default: 1).",
            verbose="Print the files of each package; -vv prints all of them.",
        ),
        click.Option(["--fix"], is_flag=True, help="Print a pip command after which all packages load; do not run it."),
    ]
)
@click.pass_context
def env(ctx: click.Context, /, former: str | None, fix: bool, **given: Any) -> None:
    """Check every package of an environment, or an upgrade of torch.

    Checks every installed package with shared objects. With --torch, checks an upgrade and lists what to replace or
    rebuild, in order. Default: the active environment; with --root, that of the first interpreter found in DIR. Exit
    status 1: a package does not load.
    """
    from msgspec.structs import replace

    from abiscan.compare.environment import environment_report
    from abiscan.compare.inspect_environment import inspect_environment

    line = CommandLine(**given)
    if former is not None:
        print_stderr("abiscan: `env PYTHON` is now `env --python PYTHON`")
        line = replace(line, python=former)
    write = comparison_output(line, ())
    files = file_system(line.root)
    options = scan_options(replace(line, torch=None), files)
    torch = line.torch
    if torch is not None:
        torch = files.inside(torch, os.getcwd())
    inspected = inspect_environment(options, torch, line.jobs or 1)
    found = environment_report(inspected)
    if fix:
        from abiscan.compare.environment_fix import environment_fix

        found = replace(found, fix=environment_fix(inspected))
    write(found)
    ctx.exit(FAIL if found.fails else INCOMPLETE if found.undecided else PASS)
