"""Shared by `diff`, `compat`, `env` and `migrate`: options, scans of the inputs, output."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from abiscan.cli.fetched import display_names, local_targets
from abiscan.cli.options import scan_options
from abiscan.cli.output import outputs_of, write_outputs
from abiscan.cli.parameters import select_options

if TYPE_CHECKING:
    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.cli.command_line import CommandLine
    from abiscan.compare.scope import ComparedScope
    from abiscan.report.comparisons import Answer


def comparison_parameters() -> list[click.Parameter]:
    """The options that all of these commands have."""
    return select_options(
        "python",
        "quiet",
        "color",
        format="text, json, markdown, html; repeatable.",
        verbose="List symbols and files of each line; -vv lists all of them.",
    )


def comparison_options(line: CommandLine, display_names: Mapping[str, str]) -> ScanOptions:
    """Scan options for comparable results: every release is checked, and nothing depends on this machine."""
    from msgspec.structs import replace

    options = scan_options(replace(line, torch=line.torch or "declared"), matrix=True, display_names=display_names)
    return replace(options, compared=True, python_named=False)


def compared_scopes(targets: Sequence[str], line: CommandLine) -> tuple[tuple[ComparedScope, ...], AnalysisContext]:
    """Scan each target. A fetched target keeps the name that the user gave.

    Raises:
        UsageError: a target does not exist, or contains several wheels.
    """
    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.run import scan_in
    from abiscan.compare.scope import scope_of

    local = local_targets(targets, line)
    context = AnalysisContext(comparison_options(line, display_names(targets, local)))
    found = zip(targets, local, strict=True)
    return tuple(scope_of(target, scan_in(context, (each,))) for target, each in found), context


def comparison_output(line: CommandLine, inputs: Sequence[str]) -> Callable[[Answer], None]:
    """A function that writes a result in every requested format.

    Args:
        inputs: paths of what is compared.

    Raises:
        UsageError: unknown format, or a file cannot be written.
    """
    from abiscan.report.comparisons import FORMS, render

    outputs = outputs_of(line.format, FORMS, inputs)
    return lambda found: write_outputs(outputs, line, lambda form, style: render(found, form, style))
