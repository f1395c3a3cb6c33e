"""`wheel-tag-*`, `wheel-tags-differ` and `torch-requirement-*`: what a wheel declares against what its members need.

One finding speaks for a whole wheel and stands at the member that shows it best, so that forty members of one build
don't say the same forty times. It works on the report's values alone, once all members are known.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from abiscan.environment.limited_api import stable_abi
from abiscan.model.finding import Finding, Severity
from abiscan.model.fingerprint import container_key
from abiscan.model.imports import Owner, Status
from abiscan.model.module_name import ModuleName, module_name
from abiscan.model.platforms import platform_of
from abiscan.model.python_version import PythonVersion
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict, Container
from abiscan.model.target import TargetEnvironment, TargetSource
from abiscan.model.versions import ReleaseRanges
from abiscan.releases.pythons import installable
from abiscan.rules import load
from abiscan.rules.make_finding import make_finding
from abiscan.rules.rule import Rule
from abiscan.rules.texts import shortened
from abiscan.target.declared import marker_environments, pythons_of_tags, without_build
from abiscan.target.package_builds import covered as builds_covered
from abiscan.target.package_builds import verified_releases
from abiscan.wheel.tags import (
    DeclaredTags,
    Excess,
    TorchRequirement,
    applicable,
    beyond_stable_abi,
    cpython_of_tag,
    differing_tags,
    fitting_platform,
    machine_fits,
    module_fits,
    read_declared_tags,
    torch_allowed,
    torch_requirements,
    versions_exceed,
)

# Architecture -> public versions of the known torch builds for it, oldest first.
Versions = Callable[[str], Sequence[str]]


class Wheel(Struct, frozen=True):
    """A wheel with the reports of its shared objects.

    Attributes:
        members: at least one, sorted by name.
        declared: its compatibility tags.
        versions: see `Versions`.
    """

    container: Container
    members: tuple[ArtifactReport, ...]
    declared: DeclaredTags
    versions: Versions


# The member that a finding of the wheel stands at, and the finding.
WheelFinding = tuple[ArtifactReport, Finding]


def findings_of_wheel(
    container: Container, members: Sequence[ArtifactReport], versions: Versions
) -> Iterator[WheelFinding]:
    """What a wheel declares that its members don't keep, each with the member that it stands at."""
    shared = sorted((m for m in members if m.kind is ArtifactKind.SHARED_OBJECT), key=lambda m: m.display)
    if not shared:
        return
    wheel = Wheel(container, tuple(shared), read_declared_tags(container.tags or container.metadata_tags), versions)
    for identifier, compute in WHEEL_RULES.items():
        yield from compute(load.rule(identifier), wheel)


def _finding(
    rule: Rule,
    wheel: Wheel,
    *,
    name: str = "",
    detail: str,
    target: str = "",
    severity: Severity | None = None,
    symbols: tuple[str, ...] = (),
) -> Finding:
    # The fingerprint is the wheel's, not the member's: which member shows it best may change with a rebuild.
    key = container_key(wheel.container.path.rsplit("!", 1)[-1])
    fields = {"name": name, "detail": detail, "target": target}
    return make_finding(rule, fields, (key,), severity=severity, symbols=symbols)


def _short(member: ArtifactReport) -> str:
    return (member.member or member.path).rsplit("!", 1)[-1]


def _module(member: ArtifactReport) -> str:
    return without_build(_short(member), member.provenance.cuda)


def _others(members: Sequence[ArtifactReport], lead: str = "also") -> str:
    """The members beside the first one, as the end of a sentence."""
    names = [_short(member) for member in members[1:]]
    return f"; {lead} {shortened(names)}" if names else ""


def tag_too_old(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`wheel-tag-too-old`: a member needs newer versions of system libraries than the tags guarantee."""
    own = {_base(member) for member in wheel.members}
    rows = []
    for member in wheel.members:
        needs = [b.symbol.version for b in member.imports if b.symbol.version is not None]
        exceeded = versions_exceed(wheel.declared, needs, own)
        if exceeded:
            rows.append((member, exceeded))
    if not rows:
        return
    member, exceeded = max(rows, key=lambda row: _order(row[1]))
    rows.sort(key=lambda row: row[0] is not member)
    first: dict[str, str] = {}
    for excess in exceeded:
        first.setdefault(excess.guaranteed, f"{excess.version} of {excess.library} (declared: {excess.guaranteed})")
    every = [b.symbol.version for m, _found in rows for b in m.imports if b.symbol.version is not None]
    others = _others([row[0] for row in rows], "newer versions than declared are also required by")
    fitting = fitting_platform(every, member.machine or "", own)
    detail = f"{_short(member)} requires {' and '.join(first.values())}{others}"
    yield (
        member,
        _finding(
            rule,
            wheel,
            name=wheel.declared.oldest_platform or "",
            detail=detail,
            target="Build the wheel in the image of its tag, or let `auditwheel repair` tag it"
            if fitting is None
            else f"Tag the wheel {fitting}, or build it in the image of its tag",
        ),
    )


def _order(exceeded: Sequence[Excess]) -> tuple[tuple[int, ...], int]:
    """The newest glibc that is asked for, then how many versions are."""
    glibc = [e.version.removeprefix("GLIBC_").split(".") for e in exceeded if e.version.startswith("GLIBC_")]
    return max((tuple(map(int, parts)) for parts in glibc), default=()), len(exceeded)


def _base(member: ArtifactReport) -> str:
    return _short(member).rsplit("/", 1)[-1]


def tag_of_other_machine(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`wheel-tag-other-machine`: members are for another machine than the tags say."""
    other = [m for m in wheel.members if m.machine is not None and not machine_fits(wheel.declared, m.machine)]
    if not other:
        return
    # One stray file may be data; where no member fits, nobody can use the wheel.
    anywhere = any(platform.machine is None for platform in wheel.declared.platforms)
    severity = Severity.ERROR if len(other) == len(wheel.members) and not anywhere else None
    first = other[0]
    built_for = platform_of(first.machine or "").shown
    same = [m for m in other if m.machine == first.machine]
    yield (
        first,
        _finding(
            rule,
            wheel,
            name=", ".join(platform.tag for platform in wheel.declared.platforms),
            detail=f"{_short(first)} is built for {built_for}{_others(same)}",
            severity=severity,
        ),
    )


def tag_of_other_python(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`wheel-tag-other-python`: no Python of the tags imports a module of this name."""
    builds: dict[str, list[tuple[ArtifactReport, ModuleName]]] = {}
    for member in wheel.members:
        module = module_name(_base(member))
        if module is not None and not module.plain:
            folder = _short(member).rpartition("/")[0]
            builds.setdefault(f"{folder}/{module.name}", []).append((member, module))
    # Several builds of one module serve several Pythons.
    alone = [found[0] for found in builds.values() if len(found) == 1]
    misfits = [(member, module) for member, module in alone if not module_fits(wheel.declared, module)]
    if not misfits:
        return
    member, module = misfits[0]
    many = any(abi in ("abi3", "none") for _python_tag, abi in wheel.declared.interpreters)
    suffix = f".cpython-{module.cpython}" if module.cpython else ".abi3"
    who = f"CPython {module.cpython[0]}.{module.cpython[1:]}" if module.cpython else "builds without free threading"
    detail = f"{_short(member)} can be imported only by {who} ({suffix}){_others([row[0] for row in misfits])}"
    yield (
        member,
        _finding(
            rule,
            wheel,
            name=_interpreters(wheel.declared),
            detail=detail,
            severity=None if many else Severity.ERROR,
        ),
    )


def _interpreters(declared: DeclaredTags) -> str:
    return ", ".join(f"{python}-{abi}" for python, abi in declared.interpreters)


def tag_beyond_stable_abi(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`wheel-tag-beyond-stable-abi`: an abi3 tag, and imports that its oldest Python does not keep."""
    stable = stable_abi()
    rows = []
    for member in wheel.members:
        names = [b.name for b in member.imports if b.owner is Owner.PYTHON and b.status is not Status.WEAK]
        module = module_name(_base(member))
        beyond = beyond_stable_abi(wheel.declared, module, names, stable)
        if module is not None and module.abi3:
            # The rule outside-limited-api speaks of names that no version has in its stable ABI.
            beyond = tuple(name for name in beyond if name in stable)
        if beyond:
            rows.append((member, beyond))
    if not rows:
        return
    member, beyond = max(rows, key=lambda row: len(row[1]))
    rows.sort(key=lambda row: row[0] is not member)
    since = wheel.declared.abi3_since
    late = [f"{name} (since {stable[name]})" if name in stable else name for name in beyond]
    others = _others([row[0] for row in rows], "such symbols are also imported by")
    missing = (
        f"CPython {since[0]}.{since[1]} does not guarantee" if since is not None else "not every CPython guarantees"
    )
    detail = f"{_short(member)} imports symbols that {missing}: {shortened(late)}{others}"
    yield (
        member,
        _finding(rule, wheel, name=_interpreters(wheel.declared), detail=detail, symbols=beyond),
    )


def tags_differ(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`wheel-tags-differ`: the tags of the file name are not those of the WHEEL file."""
    differing = differing_tags(wheel.container.tags, wheel.container.metadata_tags)
    if differing:
        of_name = set(wheel.container.tags)
        origins = [f"{tag} ({'file name' if tag in of_name else 'WHEEL'})" for tag in differing]
        # linux_x86_64 renamed to a manylinux tag is untidy; another Python or ABI changes the guarantee.
        every = (*wheel.container.tags, *_expanded(wheel.container.metadata_tags))
        same_python = len({tag.rsplit("-", 1)[0] for tag in every}) == 1
        severity = Severity.NOTE if same_python else None
        yield wheel.members[0], _finding(rule, wheel, detail=shortened(origins), severity=severity)


def _expanded(tags: Iterable[str]) -> list[str]:
    """Tags of one interpreter each: `py2.py3-none-any` is two."""
    return [
        f"{python}-{rest}"
        for tag in tags
        for python in tag.split("-", 1)[0].split(".")
        for rest in tag.split("-", 1)[1:]
    ]


# --- torch ------------------------------------------------------------------------------------------------------


_REBUILD = "Rebuild it with the headers and the CUDA version of a torch release that it allows"


class _Loading(Struct, frozen=True):
    """A member that imports names of torch, with the releases that it loads on."""

    member: ArtifactReport
    releases: frozenset[str]


class _TorchUse(Struct, frozen=True):
    """What the members of a wheel need of torch, against what the wheel requires.

    Attributes:
        users: the members that import names of torch.
        known: the releases that an installer could put beside the wheel, oldest first.
        covered, choice: as `package_builds.covered` has them.
        telling: of the members that some known release serves, the one with the fewest.
        verified: the releases that an advice may name (`verified_releases`).
        asked: the requirements on torch that hold on a Python of the wheel; allowed: the known releases that they
            allow, None where there is none.
    """

    users: tuple[ArtifactReport, ...]
    known: tuple[str, ...]
    covered: frozenset[str]
    choice: bool
    telling: _Loading | None
    asked: tuple[TorchRequirement, ...]
    allowed: tuple[str, ...] | None
    verified: frozenset[str] | None

    @property
    def required(self) -> str:
        """What the wheel requires, for a place between backticks."""
        return "` and `".join(requirement.text for requirement in self.asked)


def _torch_use(wheel: Wheel) -> _TorchUse | None:
    """None where no member imports names of torch."""
    users = tuple(m for m in wheel.members if m.provenance.torch_releases is not None and m.machine is not None)
    if not users:
        return None
    every = tuple(dict.fromkeys(wheel.versions(users[0].machine or "")))
    known = _installable(every, wheel.declared)
    # A member that no known release serves is of another kind of build; the range can say nothing of it.
    loading = [
        _Loading(m, releases)
        for m in users
        if (releases := _inside(m.provenance.torch_releases or ReleaseRanges(), known))
    ]
    covered, choice = builds_covered((_module(row.member), row.releases) for row in loading)
    telling = min(loading, key=lambda row: (len(row.releases), _short(row.member)), default=None)
    required = torch_requirements(wheel.container.requires_dist)
    pythons = pythons_of_tags(wheel.declared.interpreters)
    places = marker_environments(required, pythons, wheel.container.requires_python or "", users[0].machine or "")
    allowed = torch_allowed(required, known, places)
    return _TorchUse(
        users, known, covered, choice, telling, applicable(required, places), allowed, verified_releases(users)
    )


def requirement_missing(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`torch-requirement-missing`: members import names of torch, and the wheel requires none."""
    use = _torch_use(wheel)
    if use is None or use.allowed is not None:
        return
    known, covered = use.known, use.covered
    first = use.users[0] if use.telling is None else use.telling.member
    standing = [member for member in use.users if member.replaced_by is None]
    failing = next((member for member in standing if member.verdict is ArtifactVerdict.FAILS), None)
    drifting = next(filter(_drifts_on_target, standing), None)
    setting = next((member.target for member in (failing, drifting) if member is not None), None)
    tried = None if setting is None else setting.torch_build
    detail = f"and {_short(first)} imports torch symbols"
    if setting is not None and tried is not None:
        verb = "has `layout-drift`" if failing is None else "does not load"
        detail = f"and {verb} on torch {tried.version}{_chosen_words(setting, known[-1])}"
    target = "Declare the torch releases that it needs"
    if use.telling is not None:
        detail += f"; {_loading_words(covered, use)}"
        advice = _advice([v for v in known if v in covered], use)
        target = f"Declare {advice}" if advice else target
    # Whoever meets the failure is told first that the wheel may be for another torch.
    severity = None if tried is None else Severity.WARNING
    yield first, _finding(rule, wheel, detail=detail, target=target, severity=severity)


def _chosen_words(setting: TargetEnvironment, newest: str) -> str:
    """How the torch of a target environment was chosen, in parentheses."""
    tried = setting.torch_build
    match setting.torch.source if setting.torch is not None else None:
        case TargetSource.ENVIRONMENT:
            return " (installed)"
        case TargetSource.NEWEST_KNOWN if tried is not None and tried.version != newest and setting.gpu is not None:
            return f" (the newest known for {setting.gpu.value})"
        case TargetSource.NEWEST_KNOWN:
            return " (the newest known)"
        case _:
            return ""


def requirement_too_wide(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`torch-requirement-too-wide`: the wheel allows releases on which a member does not load, or loads and has
    another layout there."""
    use = _torch_use(wheel)
    if use is None or use.allowed is None or use.telling is None:
        return
    known, covered, allowed, telling = use.known, use.covered, use.allowed, use.telling
    wrong = [v for v in allowed if v not in covered]
    if wrong and use.verified == frozenset() and not _drifting(use, Severity.ERROR):
        return  # a member loads on no release: no range is right
    if not wrong:
        yield from _only_drifting(rule, wheel, use, allowed)
        return
    everywhere = not telling.releases.intersection(wrong)
    who = _short(telling.member) if everywhere else "at least one member"
    detail = f"but {who} does not load on {_words(wrong, known)}; {_loading_words(covered, use)}"
    none_left = len(wrong) == len(allowed)
    right = [v for v in allowed if v in covered] or [v for v in known if v in covered]
    advice = _advice(right, use)
    yield (
        telling.member,
        _finding(
            rule,
            wheel,
            name=use.required,
            detail=detail,
            target=f"Declare {advice}" if advice else _REBUILD,
            # Code that chooses among builds may do without any where none fits.
            severity=Severity.NOTE if use.choice else Severity.ERROR if none_left else None,
        ),
    )


def _only_drifting(rule: Rule, wheel: Wheel, use: _TorchUse, allowed: Sequence[str]) -> Iterator[WheelFinding]:
    """The same of a wheel that loads on all that it allows. What is known of a release counts before what may be."""
    if use.choice:
        return  # which of its builds meets which release is for its code to say
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
    detail = f"but on {_words(where, use.known)} {layout}; {_short(member)} loads there"
    advice = _advice(right, use)
    target = f"Declare {advice}" if advice else _REBUILD
    yield member, _finding(rule, wheel, name=use.required, detail=detail, target=target, severity=severity)


def _drifts_on_target(member: ArtifactReport) -> bool:
    """Whether `layout-drift` is an error on the release that the member was checked against."""
    tried = member.torch_build
    return tried is not None and (tried.version, Severity.ERROR) in member.drifting


def _drifting(use: _TorchUse, *severities: Severity) -> dict[str, ArtifactReport]:
    """Release -> the first member of which `layout-drift` tells there, as gravely as this."""
    found: dict[str, ArtifactReport] = {}
    for member in use.users:
        for release, severity in member.drifting:
            if severity in severities:
                found.setdefault(release, member)
    return found


def _drift_words(releases: Collection[str], use: _TorchUse) -> str:
    """The releases on which the members load but a class has another layout, as the end of a sentence."""
    found = _drifting(use, Severity.ERROR, Severity.WARNING)
    there = [release for release in use.known if release in releases and release in found]
    if not there:
        return ""
    return f" (on {_words(there, use.known)} with `layout-drift` in {_short(found[there[0]])})"


def _loading_words(releases: Collection[str], use: _TorchUse) -> str:
    """On which of these releases, which export all symbols, the members load with the libraries of a known build."""
    drifting = _drifting(use, Severity.ERROR)
    loading = [r for r in use.known if r in releases and (use.verified is None or r in use.verified or r in drifting)]
    if not loading:
        where = _words(releases, use.known)
        return f"all torch symbols resolve on {where}, but no known build of these loads every member"
    return f"all members load on {_words(loading, use.known)}{_drift_words(releases, use)}"


def _advice(releases: Sequence[str], use: _TorchUse) -> str:
    """The range of these releases without those on which a member does not load or has `layout-drift`; if
    `layout-drift` is only a warning on some of them, also the range with these. Empty if none is left."""
    bad, doubtful = _drifting(use, Severity.ERROR), _drifting(use, Severity.ERROR, Severity.WARNING)
    kept = [r for r in releases if r not in bad and (use.verified is None or r in use.verified)]
    if not kept:
        return ""
    clear = [release for release in kept if release not in doubtful]
    if clear and len(clear) < len(kept):
        return f"`{_range(clear, use.known)}`, or `{_range(kept, use.known)}` after a test: it includes `layout-drift`"
    return f"`{_range(kept, use.known)}`"


def _installable(versions: tuple[str, ...], declared: DeclaredTags) -> tuple[str, ...]:
    """Those that have wheels for the Pythons of the tags; all, where a tag is for many Pythons."""
    found: set[str] = set()
    for python, abi in declared.interpreters:
        version = cpython_of_tag(python)
        if version is None or not abi.startswith(python):
            return versions
        found.update(installable(versions, PythonVersion(*version)))
    return tuple(version for version in versions if version in found) or versions


def _inside(ranges: ReleaseRanges, versions: Iterable[str]) -> frozenset[str]:
    return frozenset(version for version in versions if ranges.contains(version))


def _words(selected: Collection[str], known: Iterable[str]) -> str:
    return f"torch {ReleaseRanges.of_known(known, selected.__contains__).text()}"


def _range(selected: Collection[str], known: Sequence[str]) -> str:
    return ReleaseRanges.of_known(known, selected.__contains__).requirement(known)


# In the order in which reports list their findings.
WHEEL_RULES: Mapping[str, Callable[[Rule, Wheel], Iterator[WheelFinding]]] = {
    "wheel-tag-too-old": tag_too_old,
    "wheel-tag-other-machine": tag_of_other_machine,
    "wheel-tag-other-python": tag_of_other_python,
    "wheel-tag-beyond-stable-abi": tag_beyond_stable_abi,
    "wheel-tags-differ": tags_differ,
    "torch-requirement-missing": requirement_missing,
    "torch-requirement-too-wide": requirement_too_wide,
}
