"""Notes on several CUDA major releases in one process.

`libcudart.so.12` and `libcudart.so.13` are two libraries for the loader, with symbol versions of their own
(`cudaMalloc@@libcudart.so.12`), so one process can load both. They do not share registrations or state, and structures
differ: `struct cudaDeviceProp`, to which torch returns a pointer (at::cuda::getCurrentDeviceProperties), has 1,032
bytes in driver_types.h of CUDA 12.8 and 1,008 in that of 13.0."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from abiscan.model.compatibility import Compared
from abiscan.model.cuda_driver import branch_for_runtime
from abiscan.model.versions import ReleaseRanges
from abiscan.releases.build import Build


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
