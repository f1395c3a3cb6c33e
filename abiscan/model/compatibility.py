"""What a file, wheel or package works on: the builds of torch, the Pythons, the GPUs and the systems."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable

from msgspec import Struct

from abiscan.model.release import ReleaseState
from abiscan.model.versions import ReleaseRanges


class Aspect(enum.StrEnum):
    """What a file works on, and what else can change between two of them, the most important first."""

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
        torch: public version; `variant`: as that of a `ReleaseVerdict`.
        compatible: whether all that must load does, and no requirement stands against it.
        reason: in a word why it does not work; empty where it does.
        state: how its files fare on the build, whatever its requirements say of it; of several files that of the one
            that fares worst.
        admitted: whether its requirements on torch let an installer put it beside the build; None where it has none.
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
    """The releases with a build that is selected."""
    versions: dict[str, bool] = {}
    for build in builds:
        versions[build.torch] = versions.get(build.torch, False) or selected(build)
    return ReleaseRanges.of_known(versions, versions.__getitem__)


class Floor(Struct, frozen=True):
    """The oldest version of a part of the system that something works with.

    Attributes:
        part: `glibc`, `GLIBCXX`, `CXXABI`, `musl`.
        version: the numbers of it (2, 28).
        required_by: what asks for it, for a person.
    """

    part: str
    version: tuple[int, ...]
    required_by: str

    @property
    def text(self) -> str:
        """`glibc 2.28`."""
        return f"{self.part} {'.'.join(map(str, self.version))}"


class Compatibility(Struct, frozen=True):
    """What something works on. None stands for any: nothing in it depends on that.

    Attributes:
        machines: architectures of its shared objects, sorted.
        torch: every known build of torch for the architecture, oldest first.
        pythons: the CPythons that import all of its modules (`3.11`, `3.13t`), oldest first.
        gpus: the known GPUs on which some of its device code may run (`sm_90`, `gfx942`).
        device_code: what the images of that are made for (`sm_90`, `compute_90`, `gfx942`), sorted.
        floors: of the system's libraries, by part.
        cuda: major releases of CUDA whose libraries it needs from elsewhere, sorted; none where it brings a build for
            each of several.
        undecided: why some of this is not known, in sentences.
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
    """One of the things that are compared.

    Attributes:
        path: as the user would write it.
        name, version: of the distribution; None for a file.
        files: how many shared objects it has.
    """

    path: str
    name: str | None
    version: str | None
    files: int
    compatibility: Compatibility

    @property
    def label(self) -> str:
        """`torchvision 0.28.0`, else its path."""
        return f"{self.name} {self.version}" if self.name and self.version else self.path
