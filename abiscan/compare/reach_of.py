"""What a file, wheel or package works on, by the reports of its shared objects."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from abiscan.compare.scope import Scope, place_of
from abiscan.model.facts import VersionNeed
from abiscan.model.module_name import module_name
from abiscan.model.reach import BuildOfTorch, Compared, Floor, Reach
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container
from abiscan.releases import Build
from abiscan.setting.declared import Declared, pythons_of_tags
from abiscan.setting.file_setting import importing_pythons
from abiscan.setting.package_builds import covered
from abiscan.wheel.tags import System, promise_of, torch_allowed, torch_requirements

Builds = Callable[[str], Sequence[Build]]
"""Architecture -> the known builds of torch for it, oldest first."""

_VERSION = re.compile(r"^(GLIBC|GLIBCXX|CXXABI)_(\d+(?:\.\d+)*)$")
_PARTS = {"GLIBC": "glibc"}


def compared(scope: Scope, builds: Builds) -> Compared:
    """One side of a comparison, with what it works on."""
    container = scope.container
    name, version = (None, None) if container is None else (container.name, container.version)
    return Compared(scope.path, name, version, len(scope.files), reach_of(scope, builds))


def reach_of(scope: Scope, builds: Builds) -> Reach:
    """What all of it works on."""
    files = tuple(scope.files.values())
    undecided = [f"{f.display}: {f.verdict.value} on the torch that it is for" for f in files if _is_open(f)]
    machines = tuple(sorted({f.machine for f in files if f.machine is not None}))
    if len(machines) > 1:
        undecided.append(f"{scope.path}: has files for {', '.join(machines)}")
    torch = _torch(scope, machines, builds)
    return Reach(
        machines=machines,
        torch=torch,
        pythons=_pythons(scope),
        gpus=_gpus(files),
        floors=tuple(_floors(scope)),
        cuda=tuple(sorted({f.provenance.cuda.partition(".")[0] for f in files if f.provenance.cuda})),
        undecided=(*scope.unread, *undecided),
    )


def _is_open(file: ArtifactReport) -> bool:
    return file.verdict in (ArtifactVerdict.UNREADABLE, ArtifactVerdict.UNDECIDED)


# --- torch ------------------------------------------------------------------------------------------------------


def _torch(scope: Scope, machines: Sequence[str], builds: Builds) -> tuple[BuildOfTorch, ...] | None:
    """Every known build, with whether all members that import torch load on it and no requirement stands against it.

    A member that no known build loads is of another kind of build; it says nothing of the others.
    """
    asked = [r for r in torch_requirements(scope.container.requires_dist if scope.container else ()) if not r.optional]
    users = [f for f in scope.files.values() if f.releases is not None]
    if not users and not asked:
        return None
    serving = [(f, frozenset(r.build for r in f.releases or () if r.fits)) for f in users]
    working = [(f, keys) for f, keys in serving if keys]
    reasons = _reasons(working or serving)
    on = covered((place_of(f), keys) for f, keys in working)[0]
    found = []
    for machine in dict.fromkeys(f.machine for f in users) if users else machines[:1]:
        known = builds(machine or "")
        allowed = torch_allowed(asked, dict.fromkeys(build.torch for build in known))
        for build in known:
            reason = "" if not users or build.key in on else reasons.get(build.key, "does not load")
            if not reason and allowed is not None and build.torch not in allowed:
                reason = "not allowed by " + ", ".join(f"torch{r.specifier}" for r in asked)
            found.append(BuildOfTorch(build.torch, build.variant, not reason, reason))
    return tuple(found)


def _reasons(files: Iterable[tuple[ArtifactReport, frozenset[str]]]) -> dict[str, str]:
    """Build -> why the first file that it fails does not load: one that lacks names before one whose library does."""
    failing = [r for file, _keys in files for r in file.releases or () if not r.fits]
    reasons: dict[str, str] = {}
    for release in sorted(failing, key=lambda r: not r.missing):
        reasons.setdefault(release.build, release_reason(release))
    return reasons


def release_reason(release: ReleaseVerdict) -> str:
    """Why a build does not take a file, in a word."""
    return release.reason or ("another layout" if release.state is ReleaseState.OTHER_LAYOUT else "does not load")


# --- Python -----------------------------------------------------------------------------------------------------


def _pythons(scope: Scope) -> tuple[str, ...] | None:
    """The CPythons that import every module: those of the tags, of Requires-Python, and of each module's name and
    names. Builds of one module for several Pythons serve all of theirs."""
    modules: dict[str, set[str] | None] = {}
    for key, file in scope.files.items():
        found = module_name(place_of(file).rpartition("/")[2])
        module = key if found is None else f"{place_of(file).rpartition('/')[0]}/{found.name}"
        if file.pythons is None or modules.get(module, set()) is None:
            modules[module] = None
        else:
            modules[module] = (modules.get(module) or set()) | set(file.pythons)
    wheel = _of_container(scope.container)
    limits = [found for found in modules.values() if found is not None]
    if wheel is None and not limits:
        return None
    known = _order(set().union(*limits, wheel or ()))
    if wheel is not None:
        # A module that is named for one Python in a wheel for many is told by a rule; the others work all the same.
        limits = [found for found in limits if len(wheel) == 1 or len(found) > 1]
        limits.append(set(wheel))
    return tuple(version for version in known if all(version in found for found in limits))


def _of_container(container: Container | None) -> tuple[str, ...] | None:
    if container is None:
        return None
    interpreters = promise_of(container.tags or container.metadata_tags).interpreters
    declared = Declared(pythons=pythons_of_tags(interpreters), requires_python=container.requires_python or "")
    found = importing_pythons(declared, ())
    return None if found is None else tuple(map(str, found))


def _order(versions: Iterable[str]) -> list[str]:
    """`3.9` before `3.13` before `3.13t`."""
    return sorted(versions, key=lambda text: (*map(int, text.removesuffix("t").split(".")), text.endswith("t")))


# --- GPU, system ------------------------------------------------------------------------------------------------


def _gpus(files: Iterable[ArtifactReport]) -> tuple[str, ...] | None:
    found = sorted({architecture for f in files for architecture in f.provenance.gpu_archs})
    return tuple(found) or None


def _floors(scope: Scope) -> Iterator[Floor]:
    """Of the versions that the files ask for, and of the platform tag; the higher one."""
    own = {place_of(f).rpartition("/")[2] for f in scope.files.values()}
    found: dict[str, Floor] = {}
    for place, file in scope.files.items():
        for name, need in _needs(file):
            match = _VERSION.match(need.name)
            if match is None or need.weak or need.library in own:
                continue
            part = _PARTS.get(match[1], match[1])
            version = tuple(map(int, match[2].split(".")))
            if part not in found or version > found[part].version:
                found[part] = Floor(part, version, f"{name}@{need.name} in {place}")
    container = scope.container
    promise = promise_of(() if container is None else container.tags or container.metadata_tags)
    for system in (System.GLIBC, System.MUSL):
        tags = [p for p in promise.platforms if p.system is system and p.oldest is not None]
        if tags:
            oldest = min(tags, key=lambda p: p.oldest or ())
            version = oldest.oldest or ()
            if system.value not in found or version > found[system.value].version:
                found[system.value] = Floor(system.value, version, f"the tag {oldest.tag}")
    yield from (found[part] for part in sorted(found, key=str.lower))


def _needs(file: ArtifactReport) -> Iterator[tuple[str, VersionNeed]]:
    for bound in file.imports:
        if bound.symbol.version is not None:
            yield bound.symbol.name, bound.symbol.version
