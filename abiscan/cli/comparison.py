"""What the commands that compare have in common: their options, the scans of their targets, the answer's form."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import click

from abiscan.cli.fetched import called, local_targets
from abiscan.cli.options import scan_options, style_for
from abiscan.cli.output import check_writable, write

if TYPE_CHECKING:
    from msgspec import Struct

    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.cli.command_line import CommandLine
    from abiscan.compare.scope import ComparedScope

_Command = TypeVar("_Command", bound=Callable[..., None])


def option_set(command: _Command) -> _Command:
    """The options that all of them take."""
    for option in (
        click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Default: auto."),
        click.option("-v", "--verbose", is_flag=True, help="Every name."),
        click.option(
            "-f", "--format", "form", metavar="NAME[:FILE]", default="text", help="text, json, markdown, html."
        ),
        click.option(
            "--python", metavar="PATH", help="Whose packages are meant by a name: an interpreter or environment."
        ),
    ):
        command = option(command)
    return command


def comparison_options(line: CommandLine, called: Mapping[str, str] | None = None) -> ScanOptions:
    """Options of a scan whose answers are comparable: every release is asked, and nothing of this machine."""
    from msgspec.structs import replace

    options = scan_options(replace(line, torch=line.torch or "declared"), matrix=True, called=called)
    return replace(options, compared=True, python_named=False)


def compared_scopes(targets: Sequence[str], line: CommandLine) -> tuple[tuple[ComparedScope, ...], AnalysisContext]:
    """Each target's scan. It is called what the user called it, also where it was fetched.

    Raises:
        UsageError: a target does not exist, or is not one thing.
    """
    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.run import scan_in
    from abiscan.compare.scope import scope_of

    local = local_targets(targets, line)
    context = AnalysisContext(comparison_options(line, called(targets, local)))
    found = zip(targets, local, strict=True)
    return tuple(scope_of(target, scan_in(context, (each,))) for target, each in found), context


def answer(found: Struct, form: str, line: CommandLine) -> None:
    """Write the answer where it is wanted.

    Args:
        form: `NAME[:FILE]`.

    Raises:
        UsageError: no such format, or the file cannot be written.
    """
    from msgspec.structs import replace

    from abiscan.errors import UsageError
    from abiscan.report.comparisons import FORMS, render

    name, _, path = form.partition(":")
    if name not in FORMS:
        raise UsageError(f"no format {name!r}; known: {', '.join(FORMS)}")
    style = style_for(line, sys.stdout)
    if path:
        check_writable([path])
        write(path, render(found, name, replace(style, width=None, color=False)))
        return
    sys.stdout.flush()
    sys.stdout.buffer.write(render(found, name, style).encode("utf-8", "backslashreplace"))
    sys.stdout.buffer.flush()
