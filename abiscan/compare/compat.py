"""Common compatibility of several files, wheels or packages, and which of them excludes what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from abiscan import __version__
from abiscan.compare.compatibility_changes import by_reason
from abiscan.compare.scope import ComparedScope
from abiscan.compare.scope_compatibility import compared
from abiscan.model.compat_report import CompatReport, Exclusion
from abiscan.model.compatibility import Aspect, BuildOfTorch, Compared, Compatibility, Floor
from abiscan.model.cuda_driver import branch_for_runtime
from abiscan.model.release import ReleaseState
from abiscan.model.versions import ReleaseRanges
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


# --- CUDA -------------------------------------------------------------------------------------------------------

# `libcudart.so.12` and `libcudart.so.13` are two libraries for the loader, with symbol versions of their own
# (`cudaMalloc@@libcudart.so.12`), so one process can load both. They do not share registrations or state, and
# structures differ: `struct cudaDeviceProp`, to which torch returns a pointer (at::cuda::getCurrentDeviceProperties),
# has 1,032 bytes in driver_types.h of CUDA 12.8 and 1,008 in that of 13.0.


def cuda_notes(targets: Sequence[Compared], builds: Callable[[str], Sequence[Build]]) -> Iterator[str]:
    """A sentence if the targets need several CUDA major releases, with the consequences."""
    needing: dict[str, list[Compared]] = {}
    for target in targets:
        for version in target.compatibility.cuda:
            needing.setdefault(_major(version), []).append(target)
    if len(needing) < 2:
        return
    majors = sorted(needing, key=int)
    who = ", ".join(
        f"{' and '.join(target.label for target in needing[major])} {'need' if len(needing[major]) > 1 else 'needs'} "
        f"libraries of CUDA {major}"
        for major in majors
    )
    bound = sum(any(target.compatibility.torch is not None for target in needing[major]) for major in majors)
    torch = ""
    if bound:
        machines = dict.fromkeys(machine for target in targets for machine in target.compatibility.machines)
        known = [build for machine in machines for build in builds(machine)]
        torch = f". A torch build provides at most one of them: {_torch_words(majors, known)}"
    if bound > 1:
        yield f"{who}{torch}. To check builds for another CUDA, add them with `abiscan releases add`"
        return
    driver = max((branch_for_runtime(major) or 0 for major in majors), default=0)
    served = f"; driver {driver} or newer supports them" if driver else ""
    other = "; install the others beside it" if bound else ""
    yield (
        f"{who}{torch}{other}. One process can load them side by side, but each CUDA runtime has only its own "
        f"kernels, and structs such as cudaDeviceProp differ{served}"
    )


def _torch_words(majors: Sequence[str], known: Sequence[Build]) -> str:
    """`CUDA 12 comes with torch 2.1.0-2.10.0, CUDA 13 with torch 2.11.0-2.15.0`."""
    releases = tuple(dict.fromkeys(build.torch for build in known))
    parts = []
    for major in majors:
        having = {build.torch for build in known if build.cuda is not None and _major(build.cuda) == major}
        found = ReleaseRanges.of_known(releases, having.__contains__).text(last=", ")
        parts.append(f"CUDA {major} comes with {f'torch {found}' if found else 'no known build'}")
    return ", ".join(parts)


def _major(version: str) -> str:
    return version.partition(".")[0]
