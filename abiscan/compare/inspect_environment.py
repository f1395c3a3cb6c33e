"""Scans the packages of an environment with the installed torch, and with another one."""

from __future__ import annotations

import functools

from msgspec.structs import replace

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.installed_packages import scan_packages
from abiscan.analysis.scan_options import ScanOptions
from abiscan.compare.environment import InspectedEnvironment
from abiscan.compare.environment_problems import (
    absent_requirements,
    failing_torch,
    missing_requirements,
    no_wheels,
    pip_command,
    several_runtimes,
    shadowed,
    torch_problems,
)
from abiscan.compare.file_outcome import FileOutcome, find_file_outcome
from abiscan.compare.run_time_libraries import with_openers
from abiscan.errors import UsageError
from abiscan.inputs.distributions import distributions
from abiscan.model.environment_report import Problem
from abiscan.releases.pythons import installable
from abiscan.target.run_torch import FALLBACK_MACHINE
from abiscan.wheel.markers import marker_environment
from abiscan.wheel.tags import torch_requirements


def inspect_environment(options: ScanOptions, torch: str | None, jobs: int) -> InspectedEnvironment:
    """The facts for `environment_report`.

    Args:
        torch: the torch to upgrade to; None for no upgrade.
        jobs: number of processes.

    Raises:
        UsageError: there is no environment, or no such torch.
    """
    environment = options.environment
    files = options.settings.files
    if environment is None:
        where = f"below --root {files.shown} in the usual places" if files.root else "here"
        raise UsageError(f"there is no Python environment {where}: name one with --python")
    options = replace(options, python_named=True, matrix=True)
    context = AnalysisContext(options)
    every = distributions(environment.site_packages, files)
    native = tuple(package for package in every if package.shared_objects)
    others = tuple(package for package in native if package.name.lower() != "torch")
    run_torch = context.target.run_torch()
    installed = run_torch.installed
    machine = (installed.machine if installed is not None else "") or FALLBACK_MACHINE
    is_source_build = installed is not None and context.knowledge(machine).target_from_source
    source_build = run_torch.target if is_source_build else None
    upgraded = None if torch is None else replace(options, torch=torch, matrix=False)
    # An unknown torch is an error before the scan.
    after = None if upgraded is None else AnalysisContext(upgraded).target.run_torch(machine).target.label
    here = functools.partial(find_file_outcome, installed=installed is not None)
    now, errors = scan_packages(others, options, here, jobs)
    now = with_openers(now, others, files)
    version, pip = environment.version, pip_command(environment, every)
    problems: list[Problem] = []
    if installed is not None:
        loader, absent = context.loader, absent_requirements(every)
        problems += failing_torch(
            loader.torch_failure,
            installed.version,
            pip,
            source_build,
            stop=loader.torch_stop,
            strangers=loader.strangers,
            absent=absent,
        )
        problems += missing_requirements(absent, installed.version, pip)
    problems += torch_problems(environment, every, None if installed is None else installed.version)
    problems += several_runtimes(native)
    problems += shadowed(options.settings.library_path, native, now)
    later: dict[str, list[FileOutcome]] = {}
    if upgraded is not None and after is not None:
        users = tuple(package for package in others if any(file.uses_torch for file in now[package.name]))
        later, more = scan_packages(users, upgraded, functools.partial(find_file_outcome, installed=False), jobs)
        later = with_openers(later, users, files)
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
            # For other packages, the scan of their files reports the error.
            *(sentence for package in every if package.name not in now for sentence in package.unread),
        ),
        markers=marker_environment(machine, version) if version else {},
        pip=pip,
        installable=installable(context.known_versions(machine), version) if version else (),
        machine=machine,
        version=version,
        source_build=source_build,
        builds={build.torch: build.variant for build in context.index.builds(machine)},
        pure_requirements={
            package.name: wanted
            for package in every
            if not package.shared_objects and (wanted := torch_requirements(package.requires_dist))
        },
    )
