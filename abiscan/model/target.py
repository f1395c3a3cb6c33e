"""The target environment of a file: the torch build, Python, GPU libraries and platform that it is checked against."""

from __future__ import annotations

import enum

from msgspec import Struct


class TorchKind(enum.StrEnum):
    """Where the exports of a torch build come from."""

    INSTALLED = "installed"
    RELEASE = "release"
    PATH = "path"


class TorchBuild(Struct, frozen=True):
    """The torch that imports are resolved against.

    Attributes:
        version: public version without a label (`2.6.0`).
        variant: what the label says (`cpu`, `cu124`, `rocm6.2`).
        cxx11_abi: whether its std::string is the new one (from its exports).
        note: what a user should know about the choice ("no torch is installed: the newest known build is used").
        python: the interpreter whose names serve `Py*` imports, if one was found.
    """

    kind: TorchKind
    version: str
    variant: str
    cuda: str | None
    hip: str | None
    cxx11_abi: bool | None
    path: str | None
    note: str | None
    machine: str | None = None
    git_revision: str | None = None
    python: str | None = None

    @property
    def label(self) -> str:
        """`2.6.0+cu124`."""
        return f"{self.version}+{self.variant}"


class TargetSource(enum.StrEnum):
    """Where a part of a target environment was read, the strongest first."""

    COMMAND_LINE = "command-line"
    ENVIRONMENT = "environment"
    """What is installed in the environment of the file."""
    FOLDER = "folder"
    """The folder or file name of the member, made for one release of torch (`torch-2.9/`, `libx_torch24.so`)."""
    REQUIREMENT = "requirement"
    """The metadata of the wheel or package (Requires-Dist, Requires-Python)."""
    VERSION_LABEL = "version-label"
    """The local label of the wheel's own version (`2.1.2+pt24cu121`)."""
    TAG = "tag"
    """A compatibility tag of the wheel."""
    FILE_NAME = "file-name"
    """The suffix of the extension module (`.cpython-311-x86_64-linux-gnu.so`, `.abi3.so`)."""
    BUILD = "build"
    """The requirements of the torch build."""
    NEWEST_KNOWN = "newest-known"
    MACHINE = "machine"


class TargetPart(Struct, frozen=True):
    """One part of a target environment.

    Attributes:
        value: as a person writes it: `2.8.0+cu128`, `3.11`, `>=3.9`, `CUDA 12`, `glibc 2.28`.
        detected_from: the text that it was read from, for a person (`Requires-Dist: torch==2.8.0`).
    """

    value: str
    source: TargetSource
    detected_from: str


class TargetEnvironment(Struct, frozen=True):
    """What one file is checked against; an unknown part is None.

    Attributes:
        torch: the release that its imports are resolved against.
        torch_build: the build of that release; None where no known build is what the file is made for.
        python: the CPython that imports it, `>=3.9` for every one from 3.9 on; a `t` behind it: free-threaded.
        gpu: the major version of CUDA or ROCm that the torch build ships; `none` for a CPU build.
        platform: the oldest C library that it must load with.
        device: the GPUs on which its device code must run; None where none is named.
        driver: of those GPUs that are NVIDIA's; None where it is not asked for, or decides nothing.
    """

    torch: TargetPart | None = None
    torch_build: TorchBuild | None = None
    python: TargetPart | None = None
    gpu: TargetPart | None = None
    platform: TargetPart | None = None
    device: TargetPart | None = None
    driver: TargetPart | None = None

    @property
    def torch_words(self) -> str:
        """Which torch that is, by its source, for a sentence: only what a file declares is the torch it is for."""
        return _TORCH_WORDS.get(self.torch.source if self.torch is not None else None, "the torch that it is for")


_TORCH_WORDS: dict[TargetSource | None, str] = {
    TargetSource.COMMAND_LINE: "the torch of the command line",
    TargetSource.ENVIRONMENT: "the installed torch",
    TargetSource.NEWEST_KNOWN: "the newest known release for its tags",
}
