"""Outcomes of the packages of an environment, with the installed torch and with another one."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan import __version__
from abiscan.compare.file_outcome import FileOutcome, after_upgrade, find_package_outcome, loads_on, releases_of
from abiscan.inputs.distributions import Distribution
from abiscan.model.environment_report import (
    Action,
    EnvironmentReport,
    PackageOutcome,
    PackageReport,
    PackageState,
    Problem,
    ProblemKind,
)
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild
from abiscan.ownership.vendors import cuda_distribution, vendor_of_library
from abiscan.wheel.requirement_lines import normal_name, requirements_by_name
from abiscan.wheel.tags import TorchRequirement, applicable, torch_allowed, torch_requirements


class InspectedEnvironment(Struct, frozen=True):
    """Facts about an environment.

    Attributes:
        python: its label.
        torch, after: versions with labels (`2.13.0+cpu`); None if none is installed or no upgrade is requested.
        source_build: the installed torch, if it is built from source: no wheel is made for it.
        packages: distributions with shared objects. `pure` is the number of others.
        now, later: package name -> outcomes of its shared objects with each torch. Packages that do not import torch
            are not in `later`.
        errors: sentences about what could not be read.
        root: value of `--root`; None for this machine.
        markers: values of environment markers (`wheel.markers`).
        pip: install command without requirements.
        installable: public versions of torch with wheels for its CPython, oldest first.
        machine, version: of the interpreter; `version` is None if unknown.
        builds: release of torch -> variant of its build in the index.
        pure_requirements: packages without shared objects that require torch.
    """

    python: str
    torch: str | None
    after: str | None
    packages: tuple[Distribution, ...]
    pure: int
    now: Mapping[str, Sequence[FileOutcome]]
    later: Mapping[str, Sequence[FileOutcome]]
    problems: tuple[Problem, ...]
    errors: tuple[str, ...] = ()
    root: str | None = None
    markers: Mapping[str, str] = {}
    pip: str = "pip install"
    installable: tuple[str, ...] = ()
    machine: str = "x86_64"
    version: PythonVersion | None = None
    builds: Mapping[str, str] = {}
    pure_requirements: Mapping[str, tuple[TorchRequirement, ...]] = {}
    source_build: TorchBuild | None = None

    @property
    def torch_fails(self) -> bool:
        """Whether the installed torch cannot be imported."""
        return any(problem.kind is ProblemKind.TORCH_FAILS for problem in self.problems)

    @property
    def repair(self) -> str:
        """The arguments with which pip repairs a torch that cannot be imported; empty if it cannot."""
        commands = (problem.command for problem in self.problems if problem.kind is ProblemKind.TORCH_FAILS)
        return next((each.removeprefix(self.pip).strip() for each in commands if each.startswith(self.pip)), "")


def environment_report(inspected: InspectedEnvironment) -> EnvironmentReport:
    """The report. Packages that need an action come first, in the order of the actions."""
    wanted = None if inspected.after is not None else _torch_to_install(inspected)
    rows = [_package(package, inspected, wanted) for package in inspected.packages]
    turn = upgrade_steps([p for p, row in zip(inspected.packages, rows, strict=True) if row.action is not Action.KEEP])
    placed = [replace(row, step=turn.get(row.name)) for row in rows]
    placed.sort(
        key=lambda row: (row.step is None, row.step or 0, _RANKS.index((row.after or row.now).state), row.name.lower())
    )
    return EnvironmentReport(
        __version__,
        inspected.python,
        inspected.torch,
        inspected.after,
        tuple(placed),
        inspected.problems,
        inspected.pure,
        inspected.errors,
        inspected.root,
        machine=inspected.machine,
    )


def upgrade_steps(packages: Sequence[Distribution]) -> dict[str, int]:
    """Package name -> step, counted from 1: after all packages that it requires without an extra. Packages that require
    each other have the same step."""
    names = {normal_name(package.name): package for package in packages}
    needs = {
        name: requirements_by_name(package.requires_dist).keys() & names.keys() - {name}
        for name, package in names.items()
    }
    found: dict[str, int] = {}
    left = dict(needs)
    step = 1
    while left:
        ready = [name for name, required in left.items() if required <= found.keys()] or list(left)
        found |= dict.fromkeys(ready, step)
        left = {name: required for name, required in left.items() if name not in found}
        step += 1
    return {package.name: found[normal_name(package.name)] for package in packages}


_RANKS = (PackageState.FAILS, PackageState.UNDECIDED, PackageState.PARTLY, PackageState.LOADS, PackageState.NOT_TORCH)
_ACTIONS = {PackageState.PARTLY: Action.CHECK, PackageState.UNDECIDED: Action.CHECK}


def _package(package: Distribution, inspected: InspectedEnvironment, wanted: str | None) -> PackageReport:
    files = inspected.now.get(package.name, ())
    requires = applicable(torch_requirements(package.requires_dist), (inspected.markers,))
    now = _allowed(find_package_outcome(files), package, inspected.torch, inspected.markers)
    waits = False
    # Which symbols a file lacks is known once the libraries of torch itself are loaded.
    in_vain = inspected.torch_fails and not inspected.repair and inspected.source_build is None
    fails = inspected.torch_fails and now.allowed
    if inspected.torch is None or (fails and (now.state is not PackageState.FAILS or in_vain)):
        lack = "no torch is installed here" if inspected.torch is None else "`import torch` fails here"
        alone, now = now, _require_torch(now, files, lack, required=bool(requires))
        waits = inspected.after is None and now != alone
    after = None
    if inspected.after is not None:
        later = inspected.later.get(package.name)
        # An upgrade does not affect packages that do not import torch.
        after = _allowed(
            find_package_outcome(files if later is None else after_upgrade(later, files)),
            package,
            inspected.after,
            inspected.markers,
        )
    outcome = now if after is None else after
    action = _action(outcome, package)
    if waits:
        action = Action.CHECK if in_vain else Action.INSTALL
    what = shlex.split(wanted or "") if waits else missing_distributions(outcome.absent)
    command = " ".join((inspected.pip, *map(shlex.quote, what))) if what and action is Action.INSTALL else ""
    if action is Action.REPLACE and inspected.source_build is not None and inspected.after is None:
        action, command = Action.REBUILD, build_for_source_build(package, inspected.source_build, inspected)
    return PackageReport(
        name=package.name,
        version=package.version,
        files=len(files),
        torch_files=sum(file.uses_torch for file in files),
        now=now,
        after=after,
        action=action,
        step=None,
        requires_torch=", ".join(f"torch{r.specifier}" for r in requires),
        loads_on=loads_on(files),
        command=command,
        products=products_of(outcome.absent) if action is Action.INSTALL and not command else (),
    )


def _torch_to_install(inspected: InspectedEnvironment) -> str | None:
    """Arguments for the newest torch that all packages which need one load on, or for a torch that cannot be imported;
    None if there is none."""
    if inspected.torch is not None:
        return inspected.repair or None
    candidates = inspected.installable
    for package in inspected.packages:
        files = inspected.now.get(package.name, ())
        if any(file.uses_torch for file in files):
            on = releases_of(files)
            allowed = torch_allowed(torch_requirements(package.requires_dist), candidates, (inspected.markers,))
            candidates = tuple(v for v in candidates if v in on and (allowed is None or v in allowed))
    return f"torch=={candidates[-1]}" if candidates else None


def build_for_source_build(package: Distribution, torch: TorchBuild, inspected: InspectedEnvironment) -> str:
    """The command that builds a package for the installed torch."""
    from abiscan.diagnosis.fixes.extension_fixes import rebuild
    from abiscan.diagnosis.knowledge import Environment, Knowledge
    from abiscan.diagnosis.missing_name import MissingName
    from abiscan.diagnosis.reference import Reference, ReferringFile

    environment = Environment(python=inspected.version)
    knowledge = Knowledge(target=torch, environment=environment, machine=inspected.machine, from_source=True)
    file = ReferringFile(distribution=package.name, distribution_version=package.version)
    missing = MissingName(Reference(""), knowledge, file)
    return rebuild(missing, package.name).replace("pip install", inspected.pip)


def missing_distributions(libraries: Sequence[str]) -> list[str]:
    """Requirements that provide libraries of CUDA toolkits."""
    found: dict[str, None] = {}
    for soname in libraries:
        vendor, major = vendor_of_library(soname), soname.rpartition(".so.")[2].partition(".")[0]
        text = cuda_distribution(vendor, int(major)) if vendor is not None and major.isdecimal() else None
        if text is not None:
            found[text] = None
    return list(found)


def products_of(libraries: Sequence[str]) -> tuple[str, ...]:
    """The products of the libraries (`libavutil.so.56`: FFmpeg), without duplicates; the library if unknown."""
    vendors = ((soname, vendor_of_library(soname)) for soname in libraries)
    return tuple(dict.fromkeys(soname if vendor is None else vendor.product for soname, vendor in vendors))


def _require_torch(
    outcome: PackageOutcome, files: Sequence[FileOutcome], lack: str, *, required: bool
) -> PackageOutcome:
    """The outcome of a package if no torch can be imported.

    Args:
        lack: why not, as a sentence.
        required: whether the package requires torch.
    """
    needing = sum(file.uses_torch for file in files)
    if not needing:
        return outcome
    state = PackageState.FAILS if required or needing == len(files) else PackageState.PARTLY
    return replace(outcome, state=state, failing=needing, reason=f"{lack}, and it needs torch")


def _allowed(
    outcome: PackageOutcome, package: Distribution, torch: str | None, markers: Mapping[str, str]
) -> PackageOutcome:
    if torch is None:
        return outcome
    public = torch.partition("+")[0]
    allowed = torch_allowed(torch_requirements(package.requires_dist), [public], (markers,))
    return replace(outcome, allowed=allowed is None or bool(allowed))


def _action(outcome: PackageOutcome, package: Distribution) -> Action:
    if outcome.allowed and outcome.absent:
        return Action.INSTALL
    if outcome.state is PackageState.FAILS or not outcome.allowed:
        return Action.REBUILD if package.from_source else Action.REPLACE
    return _ACTIONS.get(outcome.state, Action.KEEP)
