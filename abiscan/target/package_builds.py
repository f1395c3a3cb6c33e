"""Releases of torch that a package with several builds of a module supports."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import TypeVar

from abiscan.model.finding import Severity
from abiscan.model.release import ReleaseState, best_releases
from abiscan.model.report import ArtifactReport
from abiscan.target.build_names import names_release, without_build

_Key = TypeVar("_Key", bound=Hashable)
_Result = TypeVar("_Result")
# From the best state to the worst.
_GRADES = (
    ReleaseState.LOADS,
    ReleaseState.POSSIBLE_LAYOUT,
    ReleaseState.OTHER_LAYOUT,
    ReleaseState.OTHER_CUDA,
    ReleaseState.FAILS,
)


def module_of(member: ArtifactReport) -> str:
    """The module that a member is a build of, as `without_build` names it."""
    return without_build(member.package_path, member.provenance.cuda)


def of_named_release(place: str, results: Iterable[tuple[str, _Result]]) -> list[tuple[str, _Result]]:
    """The (version, result) pairs that count for a package: if the path of the build names a release, the package loads
    it on that one only."""
    return [(version, result) for version, result in results if names_release(place, version) is not False]


def package_states(members: Iterable[tuple[str, Mapping[_Key, ReleaseState]]]) -> dict[_Key, ReleaseState]:
    """The state of a package on each release or build: that of its worst module, and of builds of one module the best.
    A release that a module lacks is left out.

    Args:
        members: the module that each is a build of (`without_build`), with its states.
    """
    modules: dict[str, dict[_Key, ReleaseState]] = {}
    for module, states in members:
        best = modules.setdefault(module, {})
        for key, state in states.items():
            best[key] = min(best.get(key, state), state, key=_GRADES.index)
    each = list(modules.values())
    common = [key for key in each[0] if all(key in states for states in each)] if each else []
    return {key: max((states[key] for states in each), key=_GRADES.index) for key in common}


def supported_releases(members: Iterable[tuple[str, frozenset[str]]]) -> tuple[frozenset[str], bool]:
    """The releases that a package supports, and whether it ships alternative builds. Alternative builds are builds of
    one module that load on different releases (`libx_torch24.so`, `libx_torch25.so`), or members without a common
    release. Otherwise all members must load.

    Args:
        members: (module name by `without_build`, releases that the build loads on).
    """
    builds: dict[str, set[frozenset[str]]] = {}
    for module, releases in members:
        builds.setdefault(module, set()).add(releases)
    if not builds:
        return frozenset(), False
    each = [frozenset[str]().union(*found) for found in builds.values()]
    together = frozenset.intersection(*each)
    return together or frozenset.union(*each), not together or any(len(found) > 1 for found in builds.values())


def verified_releases(members: Iterable[ArtifactReport]) -> frozenset[str] | None:
    """The releases that a fix may name: the best of those on which one build of each module of a package loads, with
    the CUDA that the release's build ships (`best_releases`). Empty if a member loads on no release; None if this is
    unknown for all members."""
    states = loading_states(members)
    return None if states is None else best_releases(states.items())


def loading_states(
    members: Iterable[ArtifactReport], otherwise: Collection[str] | None = None
) -> dict[str, ReleaseState] | None:
    """The releases on which one build of each module of a package loads, with their states; None if they are unknown
    for all members.

    Args:
        otherwise: releases of members for which they are unknown; None to leave these out.
    """
    known = [(m, otherwise if m.loads_on is None else m.loads_on) for m in members]
    states = [(module_of(member), _states(member, loads_on)) for member, loads_on in known if loads_on is not None]
    return package_states(states) if states else None


_DRIFT = {Severity.ERROR: ReleaseState.OTHER_LAYOUT, Severity.WARNING: ReleaseState.POSSIBLE_LAYOUT}


def _states(member: ArtifactReport, loads_on: Iterable[str]) -> dict[str, ReleaseState]:
    drifting = {release: _DRIFT[severity] for release, severity in member.drifting if severity in _DRIFT}
    return dict(
        of_named_release(member.package_path, {**dict.fromkeys(loads_on, ReleaseState.LOADS), **drifting}.items())
    )
