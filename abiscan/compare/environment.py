"""What becomes of the packages of an environment, with the torch that is there and with another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan import __version__
from abiscan.compare.file_outcome import FileOutcome, after_upgrade, find_package_outcome, loads_on
from abiscan.compare.upgrade_order import steps
from abiscan.inputs.distributions import Distribution
from abiscan.model.environment_report import (
    Action,
    EnvironmentReport,
    PackageOutcome,
    PackageReport,
    PackageState,
    Problem,
)
from abiscan.wheel.tags import applicable, torch_allowed, torch_requirements


class InspectedEnvironment(Struct, frozen=True):
    """What was found in an environment.

    Attributes:
        python: which one, for a person.
        torch, after: with their labels (`2.13.0+cpu`); None where there is none, or none is named.
        packages: the distributions with shared objects; pure: how many have none.
        now, later: name of each -> what became of its shared objects with the one torch and the other; of a package
            that imports nothing of torch there is no `later`.
        errors: what could not be read, in sentences.
        root: the directory that holds its file system, as the user wrote it; None for this machine's own.
        markers: what environment markers are asked about there (`wheel.markers`).
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


def environment_report(looked: InspectedEnvironment) -> EnvironmentReport:
    """The environment with its packages, those first that need something done, in the order in which to do it."""
    rows = [_package(package, looked) for package in looked.packages]
    turn = steps([p for p, row in zip(looked.packages, rows, strict=True) if row.action is not Action.KEEP])
    placed = [replace(row, step=turn.get(row.name)) for row in rows]
    placed.sort(key=lambda row: (row.step is None, row.step or 0, _rank(row), row.name.lower()))
    return EnvironmentReport(
        __version__,
        looked.python,
        looked.torch,
        looked.after,
        tuple(placed),
        looked.problems,
        looked.pure,
        looked.errors,
        looked.root,
    )


_RANKS = (PackageState.FAILS, PackageState.UNDECIDED, PackageState.PARTLY, PackageState.LOADS, PackageState.NOT_TORCH)


_ACTIONS = {PackageState.PARTLY: Action.CHECK, PackageState.UNDECIDED: Action.CHECK}


def _rank(row: PackageReport) -> int:
    return _RANKS.index((row.after or row.now).state)


def _package(package: Distribution, looked: InspectedEnvironment) -> PackageReport:
    files = looked.now.get(package.name, ())
    requires = applicable(torch_requirements(package.requires_dist), (looked.markers,))
    now = _allowed(find_package_outcome(files), package, looked.torch, looked.markers)
    waits = False
    if looked.torch is None:
        alone, now = now, _require_torch(now, files, required=bool(requires))
        waits = looked.after is None and now != alone
    after = None
    if looked.after is not None:
        later = looked.later.get(package.name)
        # What imports nothing of torch fares as it does now.
        after = _allowed(
            find_package_outcome(files if later is None else after_upgrade(later, files)),
            package,
            looked.after,
            looked.markers,
        )
    return PackageReport(
        name=package.name,
        version=package.version,
        files=len(files),
        torch_files=sum(file.uses_torch for file in files),
        now=now,
        after=after,
        action=Action.INSTALL if waits else _action(now if after is None else after, package),
        step=None,
        requires_torch=", ".join(f"torch{r.specifier}" for r in requires),
        loads_on=loads_on(files),
    )


def _require_torch(outcome: PackageOutcome, files: Sequence[FileOutcome], *, required: bool) -> PackageOutcome:
    """What becomes of it where no torch is installed, whatever torch its files were judged against.

    Args:
        required: it requires torch, so that it is of no use without.
    """
    needing = sum(file.uses_torch for file in files)
    if not needing:
        return outcome
    state = PackageState.FAILS if required or needing == len(files) else PackageState.PARTLY
    return replace(outcome, state=state, failing=needing, reason="no torch is installed here, and it needs one")


def _allowed(
    outcome: PackageOutcome, package: Distribution, torch: str | None, markers: Mapping[str, str]
) -> PackageOutcome:
    if torch is None:
        return outcome
    public = torch.partition("+")[0]
    allowed = torch_allowed(torch_requirements(package.requires_dist), [public], (markers,))
    return replace(outcome, allowed=allowed is None or bool(allowed))


def _action(outcome: PackageOutcome, package: Distribution) -> Action:
    """What to do for this outcome."""
    if outcome.allowed and outcome.absent:
        return Action.INSTALL
    if outcome.state is PackageState.FAILS or not outcome.allowed:
        return Action.REBUILD if package.from_source else Action.REPLACE
    return _ACTIONS.get(outcome.state, Action.KEEP)
