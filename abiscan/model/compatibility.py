"""Environments with which a file, wheel or package is compatible: torch builds, Pythons, GPUs and systems."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable

from msgspec import Struct

from abiscan.model.release import ReleaseState, ReleaseVerdict, graded_ranges
from abiscan.model.versions import ReleaseRanges


class Aspect(enum.StrEnum):
    """Aspects in which two files or environments are compared, the most important first."""

    TORCH = "torch"
    PYTHON = "python"
    GPU = "gpu"
    SYSTEM = "system"
    REQUIREMENT = "requirement"
    FILE = "file"
    OPERATOR = "operator"
    STABLE_ABI = "stable-abi"
    LAYOUT = "layout"
    IMPORT = "import"
    LIBRARY = "library"
    EXPORT = "export"
    PROVENANCE = "provenance"


class BuildOfTorch(Struct, frozen=True):
    """A released build of torch.

    Attributes:
        torch: public version; `variant`: as in `ReleaseVerdict`.
        compatible: whether every required file loads and every requirement admits the build.
        reason: short reason for an incompatible build; empty for a compatible one.
        state: worst outcome of the files on the build, whatever the requirements admit.
        admitted: whether the requirements on torch admit the build; None if there are none.
    """

    torch: str
    variant: str
    compatible: bool
    reason: str
    state: ReleaseState = ReleaseState.LOADS
    admitted: bool | None = None

    @property
    def name(self) -> str:
        """`2.6.0+cu124`."""
        return f"{self.torch}+{self.variant}" if self.variant else self.torch


def ranges_of(builds: Iterable[BuildOfTorch], selected: Callable[[BuildOfTorch], bool]) -> ReleaseRanges:
    """Ranges of the releases that have a selected build."""
    versions: dict[str, bool] = {}
    for build in builds:
        versions[build.torch] = versions.get(build.torch, False) or selected(build)
    return ReleaseRanges.of_known(versions, versions.__getitem__)


def loading_releases(builds: Iterable[BuildOfTorch | ReleaseVerdict]) -> str:
    """`2.5.0-2.5.1 (warning: possible layout change on 2.6.0)`, whatever requirements admit; `no release`."""
    return graded_ranges((build.torch, build.state) for build in builds) or "no release"


def compatible_releases(builds: Iterable[BuildOfTorch]) -> str:
    """`2.5.0-2.5.1 (warning: possible layout change on 2.6.0)`; `no known release`."""
    states = ((b.torch, b.state if b.compatible else ReleaseState.FAILS) for b in builds)
    return graded_ranges(states) or "no known release"


class Floor(Struct, frozen=True):
    """The minimum version of a system component.

    Attributes:
        part: `glibc`, `GLIBCXX`, `CXXABI`, `musl`.
        version: (2, 28) for 2.28.
        required_by: the file or tag that requires it, for the text report.
    """

    part: str
    version: tuple[int, ...]
    required_by: str

    @property
    def text(self) -> str:
        """`glibc 2.28`."""
        return f"{self.part} {'.'.join(map(str, self.version))}"


class Compatibility(Struct, frozen=True):
    """Environments with which something is compatible. None means any: nothing depends on that aspect.

    Attributes:
        machines: architectures of its shared objects, sorted.
        torch: every known torch build of the architecture, oldest first.
        pythons: CPythons that import all of its modules (`3.11`, `3.13t`), oldest first.
        gpus: known GPUs on which some of its device code may run (`sm_90`, `gfx942`).
        device_code: architectures of the device images (`sm_90`, `compute_90`, `gfx942`), sorted.
        floors: minimum versions of system libraries, by part.
        cuda: major CUDA releases whose libraries it needs and does not bundle, sorted; empty if it ships a build for
            each of several.
        undecided: reasons why some of this is unknown, as sentences.
    """

    machines: tuple[str, ...]
    torch: tuple[BuildOfTorch, ...] | None
    pythons: tuple[str, ...] | None
    gpus: tuple[str, ...] | None
    floors: tuple[Floor, ...]
    cuda: tuple[str, ...] = ()
    device_code: tuple[str, ...] = ()
    undecided: tuple[str, ...] = ()


class Compared(Struct, frozen=True):
    """An input of a comparison.

    Attributes:
        path: as given on the command line.
        name, version: of the distribution; None for a file.
        files: number of its shared objects.
    """

    path: str
    name: str | None
    version: str | None
    files: int
    compatibility: Compatibility

    @property
    def label(self) -> str:
        """`torchvision 0.28.0`, or the path of a file."""
        return f"{self.name} {self.version}" if self.name and self.version else self.path
