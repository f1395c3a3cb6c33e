"""`torch-requirement-*`: the torch requirement of a wheel against the releases on which its members load."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from msgspec import Struct

from abiscan.model.finding import Severity
from abiscan.model.platforms import loading_words
from abiscan.model.python_version import PythonVersion
from abiscan.model.release import ReleaseState, best_releases
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.model.target import TargetEnvironment, TargetSource
from abiscan.model.versions import ReleaseRanges
from abiscan.releases.pythons import installable
from abiscan.rules.computed.wheel_subject import Wheel, WheelFinding, wheel_finding
from abiscan.rules.rule import Rule
from abiscan.target.declared import marker_environments
from abiscan.target.declared_pythons import pythons_of_tags
from abiscan.target.package_builds import loading_states, module_of, supported_releases
from abiscan.wheel.tags import (
    DeclaredTags,
    TorchRequirement,
    applicable,
    cpython_of_tag,
    torch_allowed,
    torch_requirements,
)

_REBUILD = "Rebuild it with the headers and the CUDA version of a torch release that it allows"


class _Loading(Struct, frozen=True):
    """A member that imports symbols of torch, with the releases that it loads on."""

    member: ArtifactReport
    releases: frozenset[str]


class _TorchUse(Struct, frozen=True):
    """What the members of a wheel need of torch, and what the wheel requires.

    Attributes:
        users: members that import symbols of torch.
        members: the members as a subject of a sentence; not all, if no torch is known for the machine of one.
        known: releases that an installer can install with the wheel, oldest first.
        covered, choice: results of `package_builds.supported_releases`.
        narrowest: the member that loads on the fewest releases, but at least one.
        states: outcome on each release on which it loads (`loading_states`).
        asked: torch requirements that apply to a Python of the wheel. `allowed`: the known releases that they allow, or
            None without a requirement.
    """

    users: tuple[ArtifactReport, ...]
    members: str
    known: tuple[str, ...]
    covered: frozenset[str]
    has_alternatives: bool
    narrowest: _Loading | None
    asked: tuple[TorchRequirement, ...]
    allowed: tuple[str, ...] | None
    states: dict[str, ReleaseState]

    @property
    def required(self) -> str:
        """The requirement of the wheel, for use between backticks."""
        return "` and `".join(requirement.text for requirement in self.asked)


def _torch_use(wheel: Wheel) -> _TorchUse | None:
    """None if no member imports symbols of torch."""
    users = tuple(m for m in wheel.members if m.provenance.torch_releases is not None and m.machine is not None)
    if not users:
        return None
    every = tuple(dict.fromkeys(wheel.versions(users[0].machine or "")))
    known = _installable(every, wheel.declared)
    # A member that loads on no known release is made for another kind of build; no range can fix that.
    loading = []
    for member in users:
        exporting = member.provenance.torch_releases or ReleaseRanges()
        if releases := frozenset(version for version in known if exporting.contains(version)):
            loading.append(_Loading(member, releases))
    covered, has_alternatives = supported_releases((module_of(row.member), row.releases) for row in loading)
    narrowest = min(loading, key=lambda row: (len(row.releases), row.member.package_path), default=None)
    required = torch_requirements(wheel.container.requires_dist)
    pythons = pythons_of_tags(wheel.declared.interpreters)
    places = marker_environments(required, pythons, wheel.container.requires_python or "", users[0].machine or "")
    allowed = torch_allowed(required, known, places)
    states = loading_states(users, covered) or {}
    undecided = (m for m in wheel.members if m.verdict is ArtifactVerdict.UNDECIDED)
    unchecked = any(m.torch_build is None and m.provenance.torch_releases is None for m in undecided)
    members = "all checked members" if unchecked else "all members"
    return _TorchUse(
        users, members, known, covered, has_alternatives, narrowest, applicable(required, places), allowed, states
    )


def requirement_missing(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`torch-requirement-missing`: members import symbols of torch, and the wheel does not require torch."""
    use = _torch_use(wheel)
    if use is None or use.allowed is not None:
        return
    known, covered, every = use.known, use.covered, wheel.versions(use.users[0].machine or "")
    first = use.users[0] if use.narrowest is None else use.narrowest.member
    standing = [member for member in use.users if member.replaced_by is None]
    failing = next((member for member in standing if member.verdict is ArtifactVerdict.FAILS), None)
    drifting = next(filter(_drifts_on_target, standing), None)
    setting = next((member.target for member in (failing, drifting) if member is not None), None)
    tried = None if setting is None else setting.torch_build
    detail = f"and {first.package_path} imports torch symbols"
    if setting is not None and tried is not None:
        verb = "has `layout-drift`" if failing is None else "does not load"
        detail = f"and {verb} on torch {tried.version}{_chosen_words(setting, known, every)}"
    target = "Declare the torch releases that it needs"
    if use.narrowest is not None:
        detail += f"; {_loading_words(covered, use)}"
        advice = _advice([v for v in known if v in covered], use)
        target = f"Declare {advice}" if advice else target
    optional = [r for r in torch_requirements(wheel.container.requires_dist) if r.optional]
    if optional:
        limiting = next((r for r in optional if r.specifier), optional[0])
        detail = f"except with an extra (`{limiting.text}`), {detail}"
    # For a failing file, the main result is that the wheel may be for another torch.
    severity = None if tried is None else Severity.WARNING
    yield wheel_finding(rule, wheel, first, detail=detail, target=target, severity=severity)


def _chosen_words(setting: TargetEnvironment, known: Sequence[str], every: Sequence[str]) -> str:
    """How the torch of a target environment was selected, in parentheses.

    Args:
        known: the releases with wheels for the Python of the wheel, oldest first; `every`: all.
    """
    tried = setting.torch_build
    match setting.torch.source if setting.torch is not None else None:
        case TargetSource.ENVIRONMENT:
            return " (installed)"
        case TargetSource.NEWEST_KNOWN if tried is not None and tried.version != known[-1] and setting.gpu is not None:
            return f" (the newest known for {setting.gpu.value})"
        case TargetSource.NEWEST_KNOWN:
            return " (the newest known)" if known[-1] == every[-1] else " (the newest known for its Python)"
        case _:
            return ""


def requirement_too_wide(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`torch-requirement-too-wide`: the wheel allows releases on which a member does not load, or has another
    layout."""
    use = _torch_use(wheel)
    if use is None or use.allowed is None or use.narrowest is None:
        return
    known, covered, allowed, narrowest = use.known, use.covered, use.allowed, use.narrowest
    wrong = [v for v in allowed if v not in covered]
    if wrong and not use.states:
        return  # a member loads on no release: no range fits
    if not wrong:
        yield from _only_drifting(rule, wheel, use, allowed)
        return
    everywhere = not narrowest.releases.intersection(wrong)
    who = narrowest.member.package_path if everywhere else "at least one member"
    verb = "does not load"
    if use.has_alternatives:
        who, verb = "at least one module", "has no build that loads"
    detail = f"but {who} {verb} on {_words(wrong, known)}; {_loading_words(covered, use)}"
    none_left = len(wrong) == len(allowed)
    right = [v for v in allowed if v in covered] or [v for v in known if v in covered]
    advice = _advice(right, use)
    target = f"Declare {advice}" if advice else _REBUILD
    # Code that selects one of several builds may work without any.
    severity = Severity.NOTE if use.has_alternatives else Severity.ERROR if none_left else None
    yield wheel_finding(
        rule, wheel, narrowest.member, name=use.required, detail=detail, target=target, severity=severity
    )


def _only_drifting(rule: Rule, wheel: Wheel, use: _TorchUse, allowed: Sequence[str]) -> Iterator[WheelFinding]:
    """The same for a wheel that loads on all releases that it allows. Errors come before warnings."""
    if use.has_alternatives:
        return  # the wheel's code selects the build
    certain, possible = _drifting(use, Severity.ERROR), _drifting(use, Severity.ERROR, Severity.WARNING)
    bad = [release for release in allowed if release in certain]
    doubtful = [release for release in allowed if release in possible]
    if not doubtful:
        return
    where, verb, severity = bad, "has", Severity.ERROR if len(bad) == len(allowed) else None
    if not bad:
        where, verb, severity = doubtful, "may have", Severity.NOTE
    member = possible[where[0]]
    right = [release for release in allowed if release not in where]
    right = right or [release for release in use.known if release in use.covered and release not in possible]
    layout = f"a class from torch's headers {verb} another layout (`layout-drift`)"
    detail = f"but on {_words(where, use.known)} {layout}; {member.package_path} loads there"
    advice = _advice(right, use)
    target = f"Declare {advice}" if advice else _REBUILD
    yield wheel_finding(rule, wheel, member, name=use.required, detail=detail, target=target, severity=severity)


def _drifts_on_target(member: ArtifactReport) -> bool:
    """Whether `layout-drift` is an error on the release that the member was checked against."""
    tried = member.torch_build
    return tried is not None and (tried.version, Severity.ERROR) in member.drifting


def _drifting(use: _TorchUse, *severities: Severity) -> dict[str, ArtifactReport]:
    """Release -> the first member with `layout-drift` of one of these severities."""
    found: dict[str, ArtifactReport] = {}
    for member in use.users:
        for release, severity in member.drifting:
            if severity in severities:
                found.setdefault(release, member)
    return found


_DRIFT_WORDS = {ReleaseState.OTHER_LAYOUT: "changed", ReleaseState.POSSIBLE_LAYOUT: "may have changed"}


def _drift_words(releases: Collection[str], use: _TorchUse) -> str:
    """The releases on which the members load and a layout changed or may have changed, as the end of a sentence."""
    parts = []
    for state, words in _DRIFT_WORDS.items():
        there = [release for release in use.known if release in releases and use.states.get(release) is state]
        if there:
            parts.append(f"{words} on {_words(there, use.known)}")
    return f", but the layout of a class {' and '.join(parts)}" if parts else ""


def _loading_words(releases: Collection[str], use: _TorchUse) -> str:
    """The releases, of those that export all symbols, on which the members load with the libraries of a known build."""
    loading = [r for r in use.known if r in releases and r in use.states]
    if not loading:
        where = _words(releases, use.known)
        return f"all torch symbols resolve on {where}, but no known build of these loads every member"
    verb = loading_words([use.users[0].machine]).many
    who = "its builds" if use.has_alternatives else use.members
    return f"{who} {verb} on {_words(loading, use.known)}{_drift_words(releases, use)}"


def _advice(releases: Sequence[str], use: _TorchUse) -> str:
    """The range of the best of these releases (`best_releases`); empty if a member loads on none."""
    best = best_releases((release, use.states[release]) for release in releases if release in use.states)
    if not best:
        return ""
    doubtful = any(use.states[release] is ReleaseState.POSSIBLE_LAYOUT for release in best)
    tail = " after a test: the layout of a class may have changed" if doubtful else ""
    ranges = ReleaseRanges.of_known(use.known, best.__contains__)
    return f"`{ranges.requirement(use.known)}`{tail}"


def _installable(versions: tuple[str, ...], declared: DeclaredTags) -> tuple[str, ...]:
    """The releases with wheels for the Pythons of the tags; all if a tag is for several Pythons."""
    found: set[str] = set()
    for python, abi in declared.interpreters:
        version = cpython_of_tag(python)
        if version is None or not abi.startswith(python):
            return versions
        found.update(installable(versions, PythonVersion(*version)))
    return tuple(version for version in versions if version in found) or versions


def _words(selected: Collection[str], known: Iterable[str]) -> str:
    return f"torch {ReleaseRanges.of_known(known, selected.__contains__).text()}"
