"""`wheel-tag-*` and `wheel-tags-differ`: compatibility tags that the members of the wheel contradict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from abiscan.environment.python_names import stable_abi
from abiscan.model.finding import Severity
from abiscan.model.imports import Owner, Status
from abiscan.model.module_name import ModuleName, module_name
from abiscan.model.platforms import platform_of
from abiscan.model.report import ArtifactReport
from abiscan.model.words import shortened
from abiscan.rules.computed.wheel_subject import Wheel, WheelFinding, other_members, wheel_finding
from abiscan.rules.rule import Rule
from abiscan.wheel.tags import (
    DeclaredTags,
    Excess,
    System,
    beyond_stable_abi,
    differing_tags,
    fitting_platform,
    machine_fits,
    module_fits,
    other_c_library,
    versions_exceed,
)


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
    others = other_members([row[0] for row in rows], "newer versions than declared are also required by")
    fitting = fitting_platform(every, member.machine or "", own)
    detail = f"{member.package_path} requires {' and '.join(first.values())}{others}"
    target = "Build the wheel in the image of its tag, or let `auditwheel repair` tag it"
    if fitting is not None:
        target = f"Tag the wheel {fitting}, or build it in the image of its tag"
    yield wheel_finding(rule, wheel, member, name=wheel.declared.oldest_platform or "", detail=detail, target=target)


def _order(exceeded: Sequence[Excess]) -> tuple[tuple[int, ...], int]:
    """The newest required glibc, then the number of versions."""
    glibc = [e.version.removeprefix("GLIBC_").split(".") for e in exceeded if e.version.startswith("GLIBC_")]
    return max((tuple(map(int, parts)) for parts in glibc), default=()), len(exceeded)


def _base(member: ArtifactReport) -> str:
    return member.package_path.rsplit("/", 1)[-1]


def tag_of_other_machine(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`wheel-tag-other-machine`: members are for another machine than the tags, or for another C library."""
    name = ", ".join(platform.tag for platform in wheel.declared.platforms)
    other = [m for m in wheel.members if m.machine is not None and not machine_fits(wheel.declared, m.machine)]
    if not other:
        libraries = [(m, library) for m in wheel.members if (library := _other_c_library(wheel.declared, m))]
        if libraries:
            member, library = libraries[0]
            detail = f"{member.package_path} is built for {library}{other_members([row[0] for row in libraries])}"
            yield wheel_finding(rule, wheel, member, name=name, detail=detail)
        return
    # A single such file may be data. If no member fits, the wheel is unusable.
    anywhere = any(platform.machine is None for platform in wheel.declared.platforms)
    severity = Severity.ERROR if len(other) == len(wheel.members) and not anywhere else None
    first = other[0]
    built_for = platform_of(first.machine or "").shown
    same = [m for m in other if m.machine == first.machine]
    detail = f"{first.package_path} is built for {built_for}{other_members(same)}"
    yield wheel_finding(rule, wheel, first, name=name, detail=detail, severity=severity)


def _other_c_library(declared: DeclaredTags, member: ArtifactReport) -> str | None:
    """The C library that a member needs and that the systems of a tag lack. musl exports no symbol with a version."""
    systems = {platform.system for platform in declared.platforms}
    other = other_c_library(each.soname for each in member.needed)
    if other is not None:
        return f"another C library than glibc ({other})" if System.GLIBC in systems else None
    if System.MUSL in systems:
        versions = (b.symbol.version for b in member.imports)
        needs = (each for each in versions if each is not None and not each.weak)
        found = next((each for each in needs if each.name.startswith("GLIBC_") and "libgcc" not in each.library), None)
        return None if found is None else f"glibc ({found.name} of {found.library})"
    return None


def tag_of_other_python(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`wheel-tag-other-python`: no Python of the tags imports a module with this name."""
    builds: dict[str, list[tuple[ArtifactReport, ModuleName]]] = {}
    for member in wheel.members:
        module = module_name(_base(member))
        if module is not None and not module.plain and member.is_module:
            folder = member.package_path.rpartition("/")[0]
            builds.setdefault(f"{folder}/{module.name}", []).append((member, module))
    # Several builds of one module are for several Pythons.
    alone = [found[0] for found in builds.values() if len(found) == 1]
    misfits = [(member, module) for member, module in alone if not module_fits(wheel.declared, module)]
    if not misfits:
        return
    member, module = misfits[0]
    many = any(abi in ("abi3", "none") for _python_tag, abi in wheel.declared.interpreters)
    suffix = f".cpython-{module.cpython}" if module.cpython else ".abi3"
    who = f"CPython {module.cpython[0]}.{module.cpython[1:]}" if module.cpython else "builds without free threading"
    detail = (
        f"{member.package_path} can be imported only by {who} ({suffix}){other_members([row[0] for row in misfits])}"
    )
    severity = None if many else Severity.ERROR
    yield wheel_finding(rule, wheel, member, name=_interpreters(wheel.declared), detail=detail, severity=severity)


def _interpreters(declared: DeclaredTags) -> str:
    return ", ".join(f"{python}-{abi}" for python, abi in declared.interpreters)


def tag_beyond_stable_abi(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`wheel-tag-beyond-stable-abi`: abi3 tag, but imports that are not in the stable ABI of its oldest Python."""
    stable = stable_abi()
    rows = []
    for member in wheel.members:
        names = [b.name for b in member.imports if b.owner is Owner.PYTHON and b.status is not Status.WEAK]
        module = module_name(_base(member))
        beyond = beyond_stable_abi(wheel.declared, module, names, stable)
        if module is not None and module.abi3:
            # The rule outside-limited-api reports names that are in no stable ABI.
            beyond = tuple(name for name in beyond if name in stable)
        if beyond:
            rows.append((member, beyond))
    if not rows:
        return
    member, beyond = max(rows, key=lambda row: len(row[1]))
    rows.sort(key=lambda row: row[0] is not member)
    since = wheel.declared.abi3_since
    late = [f"{name} (since {stable[name]})" if name in stable else name for name in beyond]
    others = other_members([row[0] for row in rows], "such symbols are also imported by")
    missing = (
        f"CPython {since[0]}.{since[1]} does not guarantee" if since is not None else "not every CPython guarantees"
    )
    detail = f"{member.package_path} imports symbols that {missing}: {shortened(late)}{others}"
    yield wheel_finding(rule, wheel, member, name=_interpreters(wheel.declared), detail=detail, symbols=beyond)


def tags_differ(rule: Rule, wheel: Wheel) -> Iterator[WheelFinding]:
    """`wheel-tags-differ`: the tags of the file name are not those of the WHEEL file."""
    differing = differing_tags(wheel.container.tags, wheel.container.metadata_tags)
    if differing:
        of_name = set(wheel.container.tags)
        origins = [f"{tag} ({'file name' if tag in of_name else 'WHEEL'})" for tag in differing]
        # A linux_x86_64 tag renamed to manylinux is harmless; another Python or ABI changes the guarantee.
        every = (*wheel.container.tags, *_expanded(wheel.container.metadata_tags))
        same_python = len({tag.rsplit("-", 1)[0] for tag in every}) == 1
        severity = Severity.NOTE if same_python else None
        yield wheel_finding(rule, wheel, wheel.members[0], detail=shortened(origins), severity=severity)


def _expanded(tags: Iterable[str]) -> list[str]:
    """Tags of one interpreter each: `py2.py3-none-any` becomes two."""
    return [
        f"{python}-{rest}"
        for tag in tags
        for python in tag.split("-", 1)[0].split(".")
        for rest in tag.split("-", 1)[1:]
    ]
