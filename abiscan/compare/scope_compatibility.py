"""Compatibility of a file, wheel or package, from the reports of its shared objects."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from abiscan.compare.gpus import gpus_of
from abiscan.compare.scope import ComparedScope
from abiscan.model.compatibility import BuildOfTorch, Compared, Compatibility, Floor
from abiscan.model.module_name import module_name
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container
from abiscan.ownership.gpu_libraries import find_toolkit
from abiscan.releases.build import Build
from abiscan.target.declared import Declared, marker_environments
from abiscan.target.declared_pythons import pythons_of_tags
from abiscan.target.file_target import importing_pythons
from abiscan.target.package_builds import module_of, of_named_release, package_states, supported_releases
from abiscan.wheel.tags import (
    DeclaredTags,
    System,
    applicable,
    read_declared_tags,
    torch_allowed,
    torch_requirements,
)

Builds = Callable[[str], Sequence[Build | ReleaseVerdict]]
"""Architecture -> the known builds of torch for it, oldest first."""

# Family of symbol versions -> system component.
_PARTS = {"GLIBC": "glibc", "GLIBCXX": "GLIBCXX", "CXXABI": "CXXABI"}


def compared(scope: ComparedScope, builds: Builds) -> Compared:
    """One side of a comparison, with its compatibility."""
    container = scope.container
    name, version = (None, None) if container is None else (container.name, container.version)
    return Compared(scope.path, name, version, len(scope.files), find_compatibility(scope, builds))


def find_compatibility(scope: ComparedScope, builds: Builds) -> Compatibility:
    """The compatibility of all files."""
    files = tuple(scope.files.values())
    open_ends = (ArtifactVerdict.UNREADABLE, ArtifactVerdict.UNDECIDED)
    undecided = [f"{f.display}: {f.verdict.value} on {f.torch_words}" for f in files if f.verdict in open_ends]
    machines = tuple(sorted({f.machine for f in files if f.machine is not None}))
    if len(machines) > 1:
        undecided.append(f"{scope.path}: has files for {', '.join(machines)}")
    families = _families(scope)
    own = _own_names(scope)
    return Compatibility(
        machines=machines,
        torch=_torch(scope, machines, builds),
        pythons=_pythons(scope),
        gpus=gpus_of(files),
        device_code=tuple(sorted({name for f in files for name in f.provenance.gpu_archs})),
        floors=tuple(_floors(scope, families)),
        cuda=tuple(sorted({version for family in families for version in _cuda(family, own)})),
        undecided=(*scope.unread_sentences, *undecided),
    )


# --- torch ------------------------------------------------------------------------------------------------------


def _torch(scope: ComparedScope, machines: Sequence[str], builds: Builds) -> tuple[BuildOfTorch, ...] | None:
    """Every known build, with whether all members that import torch load on it and the requirements allow it.

    A member that loads on no known build is ignored: it is made for another kind of build."""
    required = torch_requirements(scope.container.requires_dist if scope.container else ())
    users = [f for f in scope.files.values() if f.releases is not None]
    if not users and all(requirement.optional for requirement in required):
        return None
    serving = [(f, frozenset(r.build for r in _own_releases(f) if r.fits)) for f in users]
    working = [(f, keys) for f, keys in serving if keys]
    reasons = _worst(working or serving)
    on = supported_releases((module_of(f), keys) for f, keys in working)[0]
    states = package_states((module_of(f), {r.build: r.state for r in _own_releases(f)}) for f, _keys in working)
    pythons = pythons_of_tags(_declared(scope.container).interpreters)
    requires_python = "" if scope.container is None else scope.container.requires_python or ""
    found = []
    for machine in dict.fromkeys(f.machine for f in users) if users else machines[:1]:
        known = builds(machine or "")
        places = marker_environments(required, pythons, requires_python, machine or "")
        asked = applicable(required, places)
        allowed = torch_allowed(asked, dict.fromkeys(build.torch for build in known), places)
        for build in known:
            reason, state = "", ReleaseState.LOADS
            if states.get(build.key) is ReleaseState.POSSIBLE_LAYOUT:
                state = ReleaseState.POSSIBLE_LAYOUT
            if users and build.key not in on:
                worst = reasons.get(build.key)
                state = ReleaseState.FAILS if worst is None else worst.state
                usual = "layout change" if state is ReleaseState.OTHER_LAYOUT else "does not load"
                reason = (worst.reason if worst is not None else "") or usual
            admitted = None if allowed is None else build.torch in allowed
            if not reason and admitted is False:
                reason = "not allowed by " + " and ".join(requirement.text for requirement in asked)
            found.append(BuildOfTorch(build.torch, build.variant, not reason, reason, state, admitted))
    return tuple(found)


def _own_releases(file: ArtifactReport) -> list[ReleaseVerdict]:
    return [result for _, result in of_named_release(file.package_path, ((r.torch, r) for r in file.releases or ()))]


def _declared(container: Container | None) -> DeclaredTags:
    return read_declared_tags(() if container is None else container.declared_tags)


def _worst(files: Iterable[tuple[ArtifactReport, frozenset[str]]]) -> dict[str, ReleaseVerdict]:
    """Build -> the worst outcome: missing symbols, then a library that does not load, then others."""
    failing = [r for file, _keys in files for r in _own_releases(file) if not r.fits]
    worst: dict[str, ReleaseVerdict] = {}
    for release in sorted(failing, key=lambda r: (r.state is not ReleaseState.FAILS, not r.missing)):
        worst.setdefault(release.build, release)
    return worst


# --- Python -----------------------------------------------------------------------------------------------------


def _pythons(scope: ComparedScope) -> tuple[str, ...] | None:
    """The CPythons that import every module: by tags, Requires-Python, and the names and symbols of modules. Builds of
    one module for several Pythons count together."""
    modules: dict[str, set[str] | None] = {}
    for key, file in scope.files.items():
        found = module_name(file.package_path.rpartition("/")[2])
        module = key if found is None else f"{file.package_path.rpartition('/')[0]}/{found.name}"
        if file.pythons is None or modules.get(module, set()) is None:
            modules[module] = None
        else:
            modules[module] = (modules.get(module) or set()) | set(file.pythons)
    wheel = _declared_pythons(scope.container)
    limits = [found for found in modules.values() if found is not None]
    if wheel is None and not limits:
        return None
    # `3.9` before `3.13` before `3.13t`.
    known = sorted(
        set().union(*limits, wheel or ()),
        key=lambda text: (*map(int, text.removesuffix("t").split(".")), text.endswith("t")),
    )
    if wheel is not None:
        # A rule reports a module for one Python in a wheel for several; other modules do not depend on it.
        limits = [found for found in limits if len(wheel) == 1 or len(found) > 1]
        limits.append(set(wheel))
    return tuple(version for version in known if all(version in found for found in limits))


def _declared_pythons(container: Container | None) -> tuple[str, ...] | None:
    if container is None:
        return None
    pythons = pythons_of_tags(_declared(container).interpreters)
    declared = Declared(pythons=pythons, requires_python=container.requires_python or "")
    found = importing_pythons(declared, ())
    return None if found is None else tuple(map(str, found))


# --- system ------------------------------------------------------------------------------------------------


Family = list[tuple[str, ArtifactReport]]
"""The builds of one module with their places; a package selects one of them."""


def _families(scope: ComparedScope) -> list[Family]:
    found: dict[str, Family] = {}
    for place, file in scope.files.items():
        found.setdefault(module_of(file), []).append((place, file))
    return list(found.values())


def _cuda(family: Family, own: Collection[str]) -> set[str]:
    """The CUDA major release that a module needs from another package. Empty if it has builds for several, or needs
    none.

    Args:
        own: file names of bundled libraries.
    """
    each = set()
    for _place, file in family:
        toolkit = find_toolkit(library.soname for library in file.needed if library.soname not in own)
        each.add(toolkit.version.partition(".")[0] if toolkit is not None and toolkit.kind == "CUDA" else "")
    return each - {""} if len(each) == 1 else set()


def _own_names(scope: ComparedScope) -> frozenset[str]:
    return frozenset(file.package_path.rpartition("/")[2] for file in scope.files.values())


def _floors(scope: ComparedScope, families: Iterable[Family]) -> Iterator[Floor]:
    """The highest of the minimum versions that the files and the platform tag require. Of several builds of a module,
    the one with the lowest version counts."""
    own = _own_names(scope)
    found: dict[str, Floor] = {}
    for family in families:
        each = [_file_floors(place, file, own) for place, file in family]
        for part in set.intersection(*(set(floors) for floors in each)):
            lowest = min((floors[part] for floors in each), key=lambda floor: floor.version)
            if part not in found or lowest.version > found[part].version:
                found[part] = lowest
    declared = _declared(scope.container)
    for system in (System.GLIBC, System.MUSL):
        tags = [p for p in declared.platforms if p.system is system and p.oldest is not None]
        if tags:
            oldest = min(tags, key=lambda p: p.oldest or ())
            version = oldest.oldest or ()
            if system.value not in found or version > found[system.value].version:
                found[system.value] = Floor(system.value, version, f"the tag {oldest.tag}")
    yield from (found[part] for part in sorted(found, key=str.lower))


def _file_floors(place: str, file: ArtifactReport, own: Collection[str]) -> dict[str, Floor]:
    """The minimum version of each part that one file requires.

    Args:
        own: file names of bundled libraries, whose symbol versions are skipped.
    """
    found: dict[str, Floor] = {}
    for bound in file.imports:
        need = bound.symbol.version
        numbered = None if need is None or need.weak or need.library in own else need.numbered
        if need is None or numbered is None or numbered[0] not in _PARTS:
            continue
        part, version = _PARTS[numbered[0]], numbered[1]
        if part not in found or version > found[part].version:
            found[part] = Floor(part, version, f"{bound.symbol.name}@{need.name} in {place}")
    return found
