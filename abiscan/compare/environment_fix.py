"""One command that brings an environment into a state that loads: a torch, and published wheels for it.

Packages that load on that torch stay. Facts about published wheels are those of `abiscan explain` and of fixes
(`diagnosis.package_commands`); whether an installed package loads on a torch is the result of its scan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.compare.environment import (
    InspectedEnvironment,
    build_for_source_build,
    missing_distributions,
    products_of,
)
from abiscan.compare.file_outcome import after_upgrade, find_package_outcome, loads_on, releases_of
from abiscan.compare.pip_command import PipInstall, one_line
from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.fixes import build_commands, torch_commands, wheel_choice
from abiscan.diagnosis.fixes.wheel_rows import PublishedWheel
from abiscan.diagnosis.knowledge import Environment, Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.reference import Reference, ReferringFile
from abiscan.inputs.distributions import Distribution
from abiscan.model.environment_report import (
    EnvironmentFix,
    FixConflict,
    PackageOutcome,
    PackageState,
    on_releases,
)
from abiscan.model.imports import Owner
from abiscan.model.report import ArtifactVerdict
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.gpu_libraries import needs_gpu_build
from abiscan.ownership.names import owner_of_library
from abiscan.wheel.requirement_lines import normal_name, required_name
from abiscan.wheel.tags import torch_allowed, torch_requirements


class _Candidate(Struct, frozen=True):
    """A torch that the environment may have after the command.

    Attributes:
        arguments: of `pip install`; empty if it is installed already.
        checked: whether the scans of `inspect_environment` are about this torch; else the results of releases count.
    """

    version: str
    variant: str
    arguments: str
    checked: bool


class _Choice(Struct, frozen=True):
    """What to do with a package for a candidate.

    Attributes:
        loads: whether it loads then.
        wheel: to install; None to keep the package.
        needs: requirements to install with it.
        sure: whether every file of it was decided.
        absent: libraries that it needs as well, and that pip does not install.
    """

    loads: bool
    wheel: PublishedWheel | None = None
    needs: tuple[str, ...] = ()
    sure: bool = True
    absent: tuple[str, ...] = ()


def environment_fix(inspected: InspectedEnvironment) -> EnvironmentFix:
    """The command with the fewest replacements: with the installed torch, or the torch of the upgrade, if possible;
    else with the newest of the best releases. A package that no candidate fixes is a conflict, and does not prevent a
    command for the others."""
    candidates = _candidates(inspected)
    if not candidates:
        return EnvironmentFix(None, "", (), 0)
    choices = [{p.name: _choose(p, each, inspected) for p in inspected.packages} for each in candidates]
    hopeless = {p.name for p in inspected.packages if not any(each[p.name].loads for each in choices)}
    possible = [
        (sum(choice.wheel is not None for choice in chosen.values()), at)
        for at, (candidate, chosen) in enumerate(zip(candidates, choices, strict=True))
        if all(choice.loads or name in hopeless for name, choice in chosen.items())
        and (candidate.checked or _admitted(candidate, inspected))
    ]
    best = next((at for _count, at in possible if candidates[at].checked), None)
    if best is None and possible:
        best = min(possible)[1]
    if best is not None:
        explained = {name for name, choice in choices[best].items() if choice.absent}
    else:
        uses = {name for name, files in inspected.now.items() if any(file.uses_torch for file in files)}
        explained = {p.name for p in inspected.packages if p.name in uses}
    conflicts = tuple(
        _conflict(p, [each[p.name] for each in choices], candidates, inspected)
        for p in inspected.packages
        if p.name in hopeless | explained
    )
    if best is None:
        pure = (
            FixConflict(name, f"requires {', '.join(each.text for each in requirements)}")
            for name, requirements in inspected.pure_requirements.items()
            if any(each.specifier for each in requirements)
        )
        return EnvironmentFix(None, "", (), 0, (), (*conflicts, *pure))
    return _fix(candidates[best], choices[best], inspected, conflicts)


def _fix(
    candidate: _Candidate,
    choices: Mapping[str, _Choice],
    inspected: InspectedEnvironment,
    conflicts: tuple[FixConflict, ...],
) -> EnvironmentFix:
    installs = [PipInstall.parse(candidate.arguments)] if candidate.arguments else []
    of_torch = any(name == "torch" for each in installs for name in map(required_name, each.requirements))
    replaced = ["torch"] if of_torch and inspected.torch is not None else []
    for package in inspected.packages:
        choice = choices[package.name]
        if not choice.loads:
            continue
        installs += (PipInstall.parse(need) for need in choice.needs)
        if choice.wheel is not None:
            replaced.append(package.name)
            installs.append(_install(choice.wheel, package))
    stay = {
        name: choice for name, choice in choices.items() if choice.loads and choice.wheel is None and not choice.absent
    }
    undecided = tuple(name for name, choice in stay.items() if not choice.sure)
    label = f"{candidate.version}+{candidate.variant}" if candidate.variant else candidate.version
    command = one_line(inspected.pip, installs)
    return EnvironmentFix(label, command, tuple(replaced), len(stay) - len(undecided), undecided, conflicts)


def _install(wheel: PublishedWheel, package: Distribution) -> PipInstall:
    """pip keeps an installed package whose version satisfies the requirement: then the build must be replaced, without
    its requirements, so that other packages stay."""
    install = PipInstall.parse(wheel.arguments)
    if wheel.with_torch and not _is_release(package.version, wheel.release):
        return install
    return install.replacing()


def _is_release(version: str, release: str) -> bool:
    """Whether `2.1.2+pt28` is a version of release `2.1`; of an unknown release, it may be."""
    parts = release.split(".") if release else []
    return version.partition("+")[0].split(".")[: len(parts)] == parts


# --- torch ----------------------------------------------------------------------------------------------------------


def _candidates(inspected: InspectedEnvironment) -> list[_Candidate]:
    """The torch of the upgrade; else the installed one, and the releases for this Python, newest first."""
    if inspected.after is not None:
        version, _, variant = inspected.after.partition("+")
        return [_released(version, variant, inspected, checked=True)]
    version, _, variant = (inspected.torch or "").partition("+")
    found = [] if inspected.torch is None else [_Candidate(version, variant, inspected.repair, checked=True)]
    if inspected.source_build is not None:
        return found  # a release must not replace it
    others = (each for each in reversed(inspected.installable) if each != version)
    return found + [_released(each, variant, inspected, checked=False) for each in others]


def _released(version: str, variant: str, inspected: InspectedEnvironment, *, checked: bool) -> _Candidate:
    """A release in the installed variant, if the files load with it and an index has it; else as on the package index,
    whose build the files are checked against."""
    of_index = inspected.builds.get(version, "")
    needed = [n.soname for files in inspected.now.values() for file in files for n in file.needed]
    wanted = of_index if not variant or needs_gpu_build(needed) else variant
    missing = _question(version, wanted, inspected)
    found = torch_commands.find_torch(version, missing, variant=wanted)
    arguments, variant = (f"torch=={version}", of_index) if found is None else found
    installed, _, label = (inspected.torch or "").partition("+")
    if installed == version:
        # pip takes another build of the release for it.
        arguments = inspected.repair if label == variant else f"--force-reinstall {arguments}"
    return _Candidate(version, variant, arguments, checked)


def _admitted(candidate: _Candidate, inspected: InspectedEnvironment) -> bool:
    """Whether the requirements of packages without shared objects, which stay, admit another torch."""
    allowed = (
        torch_allowed(each, [candidate.version], (inspected.markers,)) for each in inspected.pure_requirements.values()
    )
    return all(each is None or bool(each) for each in allowed)


# --- packages -------------------------------------------------------------------------------------------------------


def _choose(package: Distribution, candidate: _Candidate, inspected: InspectedEnvironment) -> _Choice:
    allowed = torch_allowed(torch_requirements(package.requires_dist), [candidate.version], (inspected.markers,))
    if allowed is None or allowed:
        outcome = _outcome(package, candidate, inspected)
        needs = tuple(missing_distributions(outcome.absent))
        if outcome.state is not PackageState.FAILS:
            sure = bool(needs) or outcome.state in (PackageState.LOADS, PackageState.NOT_TORCH)
            return _Choice(True, needs=needs, sure=sure)
        if outcome.absent and not outcome.for_another:
            # Another torch does not bring these libraries.
            return _Choice(True, needs=needs, absent=() if needs else outcome.absent)
    wheel = _wheel(package, candidate, inspected)
    return _Choice(wheel is not None, wheel)


def _outcome(package: Distribution, candidate: _Candidate, inspected: InspectedEnvironment) -> PackageOutcome:
    """The outcome with a candidate. If it was not scanned, symbols resolve as on its release, and libraries that no
    torch provides are absent as with the installed one."""
    files = inspected.now.get(package.name, ())
    if candidate.checked or not any(file.uses_torch for file in files):
        later = None if inspected.after is None else inspected.later.get(package.name)
        return find_package_outcome(files if later is None else after_upgrade(later, files))
    if candidate.version not in releases_of(files):
        return PackageOutcome(PackageState.FAILS)
    then = [
        replace(
            file,
            verdict=ArtifactVerdict.LOADS,
            why="",
            needed=tuple(each for each in file.needed if owner_of_library(each.soname) is Owner.OTHER),
        )
        if file.uses_torch or candidate.version in file.loading_states
        else file
        for file in files
    ]
    return find_package_outcome(after_upgrade(then, files))


def _wheel(package: Distribution, candidate: _Candidate, inspected: InspectedEnvironment) -> PublishedWheel | None:
    """The published wheel for the candidate, unless it is the installed one, which does not load there."""
    known = packages_by_name().get(normal_name(package.name))
    of_source_build = inspected.source_build is not None and inspected.after is None
    if known is None or not candidate.variant or of_source_build:
        return None
    missing = _question(candidate.version, candidate.variant, inspected, package)
    assert missing.target is not None
    found = wheel_choice.find_wheel(known, missing, missing.target)
    if found is None or found.remark:
        return None
    installed = f"{known.name}=={package.version}"
    return None if installed in PipInstall.parse(found.arguments).requirements else found


def _question(
    version: str, variant: str, inspected: InspectedEnvironment, package: Distribution | None = None
) -> MissingName:
    """A package and a torch, as `package_commands` takes them."""
    target = TorchBuild(TorchKind.RELEASE, version, variant, None, None, None, None, None, inspected.machine)
    machine = inspected.machine
    platform = "macosx" if machine.startswith("macosx") else machine if machine.startswith("win") else ""
    knowledge = Knowledge(
        target=target, environment=Environment(python=inspected.version, platform=platform), machine=machine
    )
    name, release = (None, None) if package is None else (package.name, package.version)
    return MissingName(Reference(""), knowledge, ReferringFile(distribution=name, distribution_version=release))


# --- conflicts ------------------------------------------------------------------------------------------------------


def _conflict(
    package: Distribution, choices: Sequence[_Choice], candidates: Sequence[_Candidate], inspected: InspectedEnvironment
) -> FixConflict:
    files = inspected.now.get(package.name, ())
    absent = next((choice.absent for choice in choices if choice.absent), ())
    if absent:
        return FixConflict(package.name, f"needs {', '.join(products_of(absent))}, which pip does not install")
    text = f"loads on {on_releases(loads_on(files))}" if loads_on(files) else find_package_outcome(files).reason
    if inspected.source_build is not None and inspected.after is None:
        built = build_for_source_build(package, inspected.source_build, inspected)
        return FixConflict(package.name, f"{text}; no wheel is made for a torch that was built from source", built)
    having = {each.version for each, choice in zip(candidates, choices, strict=True) if choice.wheel is not None}
    known = [each.version for each in reversed(candidates)]
    ranges = ReleaseRanges.of_known(known, having.__contains__).text(last=", ")
    text += f"; wheels are known for torch {ranges}" if ranges else "; no other wheel of it is known"
    row = packages_by_name().get(normal_name(package.name))
    command = None
    if row is not None:
        newest = candidates[0]
        command = build_commands.build(row, _question(newest.version, newest.variant, inspected, package))
    return FixConflict(package.name, text, command or "")
