"""`abiscan diff`, `compat`, `env` and `migrate`: their options, scans of the inputs, output."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from abiscan.cli.command_line import CommandLine
from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS
from abiscan.cli.fetched import display_names, local_targets
from abiscan.cli.options import file_system, scan_options
from abiscan.cli.output import outputs_of, print_stderr, write_outputs
from abiscan.cli.parameters import select_options

if TYPE_CHECKING:
    from abiscan.analysis.context import AnalysisContext
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


def compared_scopes(targets: Sequence[str], line: CommandLine) -> tuple[tuple[ComparedScope, ...], AnalysisContext]:
    """Scan each target so that results are comparable: every release is checked, and nothing depends on this machine. A
    fetched target keeps the name that the user gave.

    Raises:
        UsageError: a target does not exist, or contains several wheels.
    """
    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.run import scan_in
    from abiscan.compare.scope import scope_of

    local = local_targets(targets, line)
    line = replace(line, torch=line.torch or "declared")
    options = scan_options(line, matrix=True, display_names=display_names(targets, local))
    context = AnalysisContext(replace(options, compared=True, python_named=False))
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


@click.command(params=[click.Argument(["old"]), click.Argument(["new"]), *comparison_parameters()])
@click.pass_context
def diff(ctx: click.Context, /, old: str, new: str, **given: Any) -> None:
    """Compare two files, wheels or packages.

    One line for each change, the most important first: compatibility (torch builds, Pythons, GPUs, systems),
    requirements, contents. Exit status 1: NEW is compatible with less than OLD.
    """
    line = CommandLine(**given)
    from abiscan.compare.diff import find_changes

    write = comparison_output(line, (old, new))
    (before, after), context = compared_scopes((old, new), line)
    found = find_changes(before, after, context.index.builds, context.readable)
    write(found)
    ctx.exit(FAIL if found.regressed else INCOMPLETE if found.undecided else PASS)


@click.command(
    params=[click.Argument(["targets"], nargs=-1, required=True, metavar="PATH..."), *comparison_parameters()]
)
@click.pass_context
def compat(ctx: click.Context, /, **given: Any) -> None:
    """List the environments that all PATHs load on.

    These are torch builds, Pythons, GPUs and systems. If one PATH alone excludes an environment, it is printed. PATH is
    a shared object, a wheel or the name of an installed package. Exit status 1: no torch, Python, GPU or
    system suits all of them.
    """
    line = CommandLine(**given)
    from abiscan.compare.compat import find_common_compatibility

    write = comparison_output(line, line.targets)
    scopes, context = compared_scopes(line.targets, line)
    found = find_common_compatibility(scopes, context.index.builds)
    write(found)
    ctx.exit(FAIL if found.conflicts else INCOMPLETE if found.undecided else PASS)


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


_BASELINE = select_options(baseline="JSON of an earlier run (-f json:FILE): print the progress since.")


@click.command(params=[click.Argument(["target"], metavar="PATH"), *comparison_parameters(), *_BASELINE])
@click.pass_context
def migrate(ctx: click.Context, /, target: str, **given: Any) -> None:
    """Plan the migration of PATH to torch's stable ABI.

    Lists the counterpart of each symbol, the first release that has it, and where the symbol is used; for each file
    what is left. PATH is a shared object, a wheel, a directory, a source file or tree, or the name of an installed
    package.
    """
    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.plan_migration import plan_migration
    from abiscan.model.migration_plan import FileRewrites
    from abiscan.source.rewrites import REWRITES
    from abiscan.source.rewrites.rewrite_tree import rewrite_tree
    from abiscan.source.source_tree import is_source

    line = CommandLine(**given)
    write = comparison_output(line, (target, *([line.baseline] if line.baseline is not None else [])))
    earlier = None
    if line.baseline is not None:
        from abiscan.compare.earlier_runs import read_earlier_plan

        earlier = read_earlier_plan(line.baseline)
    (local,) = local_targets((target,), line)
    options = scan_options(line, display_names=display_names((target,), (local,)))
    plan = plan_migration(local, AnalysisContext(options))
    rewrites: list[FileRewrites] = []
    if os.path.isdir(local) or (os.path.isfile(local) and is_source(local)):
        changed = (each for each in rewrite_tree(Path(local), frozenset(REWRITES), []) if each.changes)
        rewrites += (FileRewrites(os.path.relpath(each.path), tuple(sorted(set(each.rules)))) for each in changed)
    write(replace(plan, earlier=earlier, rewrites=tuple(rewrites)))
    ctx.exit(INCOMPLETE if plan.errors else PASS)
