"""`abiscan env`."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING, Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.comparison import answer
from abiscan.cli.exit_status import FAIL, INCOMPLETE, PASS
from abiscan.cli.options import file_system, scan_options
from abiscan.errors import UsageError

if TYPE_CHECKING:
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.compare.environment import InspectedEnvironment
    from abiscan.compare.file_outcome import FileOutcome


@click.command()
@click.argument("python", required=False, metavar="[PYTHON]")
@click.option("--torch", metavar="SPEC", help="The torch to upgrade to: a release (2.11.0, 2.6.0+cu124) or a path.")
@click.option(
    "--root", metavar="DIR", help="Look at the file system in DIR (an unpacked image) and at nothing outside."
)
@click.option("-f", "--format", "form", metavar="NAME[:FILE]", default="text", help="text, json, markdown, html.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Processes (default: 1).")
@click.option("-q", "--quiet", is_flag=True, help="No progress.")
@click.option("-v", "--verbose", is_flag=True, help="Every file.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Default: auto.")
@click.pass_context
def env(ctx: click.Context, /, form: str, **given: Any) -> None:
    """Say of every installed package with shared objects whether it loads; with --torch, whether it would after the
    upgrade, and what to replace or rebuild in which order.

    PYTHON is an interpreter or an environment (default: the active one; below --root that of the first interpreter in
    the usual places). Exit status 1 where a package does not load.
    """
    from msgspec.structs import replace

    from abiscan.compare.environment import environment_report

    line = CommandLine(**given)
    files = file_system(line.root)
    options = scan_options(replace(line, torch=None), files)
    torch = line.torch
    if torch is not None:
        torch = files.inside(torch, os.getcwd())
    found = environment_report(_looked(options, torch, line.jobs or 1))
    answer(found, form, line)
    ctx.exit(FAIL if found.fails else INCOMPLETE if found.undecided else PASS)


def _looked(options: ScanOptions, torch: str | None, jobs: int) -> InspectedEnvironment:
    from msgspec.structs import replace

    from abiscan.analysis.context import AnalysisContext
    from abiscan.analysis.installed_packages import scan_packages
    from abiscan.compare.environment import InspectedEnvironment
    from abiscan.compare.environment_problems import editable, no_wheels, torch_problems
    from abiscan.compare.file_outcome import find_file_outcome
    from abiscan.compare.runtime_copies import several_runtimes, shadowed
    from abiscan.inputs.distributions import distributions
    from abiscan.target.run_torch import FALLBACK_MACHINE
    from abiscan.wheel.markers import marker_environment

    environment = options.environment
    files = options.settings.files
    if environment is None:
        where = f"below --root {files.shown} in the usual places" if files.root else "here"
        raise UsageError(f"there is no Python environment {where}: name one")
    options = replace(options, python_named=True, matrix=True)
    context = AnalysisContext(options)
    every = distributions(environment.site_packages, files)
    native = tuple(package for package in every if package.shared_objects)
    others = tuple(package for package in native if package.name.lower() != "torch")
    installed = context.target.of_run().installed
    found = installed.machine if installed is not None else None
    after = None
    later: dict[str, list[FileOutcome]] = {}
    if torch is not None:
        upgraded = replace(options, torch=torch, matrix=False)
        machine = installed.machine if installed is not None else FALLBACK_MACHINE
        target = AnalysisContext(upgraded).target.of_run(machine or FALLBACK_MACHINE).target
        after = f"{target.version}+{target.variant}"
    here = functools.partial(find_file_outcome, installed=installed is not None)
    now, errors = scan_packages(others, options, here, jobs)
    problems = [
        *torch_problems(environment, every, None if installed is None else installed.version),
        *several_runtimes(native),
    ]
    problems += editable(every, files)
    problems += shadowed(options.settings.library_path, native, now)
    if torch is not None and after is not None:
        users = tuple(package for package in others if any(file.uses_torch for file in now[package.name]))
        later, more = scan_packages(users, upgraded, functools.partial(find_file_outcome, installed=False), jobs)
        errors = tuple(dict.fromkeys((*errors, *more)))
        problems += no_wheels(environment, after.partition("+")[0], context.known_versions(machine))
    return InspectedEnvironment(
        python=environment.label,
        root=files.shown or None,
        torch=None if installed is None else installed.version,
        after=after,
        packages=others,
        pure=len(every) - len(native),
        now=now,
        later=later,
        problems=tuple(problems),
        errors=(
            *(f"{error.path}: {error.message}" for error in errors),
            # Of the others it is an error that was found where their files were looked at.
            *(sentence for package in every if package.name not in now for sentence in package.unread),
        ),
        markers=marker_environment(found or FALLBACK_MACHINE, environment.version) if environment.version else {},
    )
