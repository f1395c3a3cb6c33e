"""Common compatibility of several files, wheels or packages, and which of them excludes what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from abiscan import __version__
from abiscan.compare.compatibility_changes import by_reason
from abiscan.compare.cuda_majors import cuda_notes
from abiscan.compare.scope import ComparedScope
from abiscan.compare.scope_compatibility import compared
from abiscan.model.compat_report import CompatReport, Exclusion
from abiscan.model.compatibility import Aspect, BuildOfTorch, Compared, Compatibility, Floor
from abiscan.model.release import ReleaseState
from abiscan.releases.build import Build


def find_common_compatibility(
    scopes: Sequence[ComparedScope], builds: Callable[[str], Sequence[Build]]
) -> CompatReport:
    """Find what all of them are compatible with.

    Args:
        scopes: at least one.
    """
    found = intersect_compatibility(tuple(compared(scope, builds) for scope in scopes))
    return replace(found, notes=tuple(cuda_notes(found.inputs, builds)))


def intersect_compatibility(targets: Sequence[Compared]) -> CompatReport:
    """The common compatibility of targets."""
    reaches = [target.compatibility for target in targets]
    torch = _torch(reaches)
    pythons = _common([r.pythons for r in reaches])
    gpus = _common([r.gpus for r in reaches])
    machines = _common([r.machines or None for r in reaches]) or ()
    common = Compatibility(
        machines=machines,
        torch=torch,
        pythons=pythons,
        gpus=gpus,
        floors=tuple(_floors(targets)),
        cuda=tuple(sorted({version for r in reaches for version in r.cuda})),
        device_code=tuple(sorted({name for r in reaches for name in r.device_code})),
        undecided=tuple(dict.fromkeys(sentence for r in reaches for sentence in r.undecided)),
    )
    conflicts = [
        aspect
        for aspect, empty in (
            (Aspect.TORCH, torch is not None and not any(build.compatible for build in torch)),
            (Aspect.PYTHON, pythons == ()),
            (Aspect.GPU, gpus == ()),
            (Aspect.SYSTEM, not machines and any(r.machines for r in reaches)),
        )
        if empty
    ]
    return CompatReport(__version__, tuple(targets), common, tuple(_exclusions(targets)), tuple(conflicts))


def _common(each: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """The items of all lists, in the order of the first; None if all are None."""
    bounds = [found for found in each if found is not None]
    if not bounds:
        return None
    return tuple(item for item in bounds[0] if all(item in found for found in bounds[1:]))


def _torch(reaches: Sequence[Compatibility]) -> tuple[BuildOfTorch, ...] | None:
    """Every build in all lists; if incompatible, with the reason of the first target."""
    lists = [r.torch for r in reaches if r.torch is not None]
    if not lists:
        return None
    others = [{build.name: build for build in found} for found in lists[1:]]
    result = []
    for build in lists[0]:
        same = [build, *(found[build.name] for found in others if build.name in found)]
        if len(same) == len(lists):
            doubtful = (b for b in same if b.state is ReleaseState.POSSIBLE_LAYOUT)
            result.append(next((b for b in same if not b.compatible), next(doubtful, build)))
    return tuple(result)


def _floors(targets: Sequence[Compared]) -> Iterator[Floor]:
    found: dict[str, Floor] = {}
    for target in targets:
        for floor in target.compatibility.floors:
            if floor.part not in found or floor.version > found[floor.part].version:
                found[floor.part] = Floor(floor.part, floor.version, f"{target.label}: {floor.required_by}")
    yield from (found[part] for part in sorted(found, key=str.lower))


# --- exclusions -------------------------------------------------------------------------------------------------


def _exclusions(targets: Sequence[Compared]) -> Iterator[Exclusion]:
    """What one target alone excludes: each is counted once over all targets, which may be thousands of files."""
    yield from _torch_exclusions(targets)
    for aspect, bounds in _BOUNDS.items():
        found = [(target, own) for target in targets if (own := bounds(target.compatibility)) is not None]
        counts = Counter(item for _target, own in found for item in own)
        excluded_once = [item for item, count in counts.items() if count == len(found) - 1]
        for target, own in found:
            excluded = tuple(item for item in excluded_once if item not in own)
            if excluded:
                yield Exclusion(target.path, aspect, excluded, ", ".join(excluded))


_BOUNDS: dict[Aspect, Callable[[Compatibility], tuple[str, ...] | None]] = {
    Aspect.PYTHON: lambda reach: reach.pythons,
    Aspect.GPU: lambda reach: reach.gpus,
    Aspect.SYSTEM: lambda reach: reach.machines or None,
}


def _torch_exclusions(targets: Sequence[Compared]) -> Iterator[Exclusion]:
    found = [(target, own) for target in targets if (own := target.compatibility.torch) is not None]
    listed = Counter(build.name for _target, own in found for build in own)
    served = Counter(build.name for _target, own in found for build in own if build.compatible)
    only = {name for name, count in served.items() if count == len(found) - 1 and listed[name] == len(found)}
    for target, own in found:
        excluded = [build for build in own if not build.compatible and build.name in only]
        if excluded:
            names = tuple(build.name for build in excluded)
            yield Exclusion(target.path, Aspect.TORCH, names, f"torch {by_reason(excluded, own)}")
