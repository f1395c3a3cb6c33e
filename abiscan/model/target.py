"""The target environment of a file: the torch build, Python, GPU libraries and platform that it is checked against."""

from __future__ import annotations

import enum

from msgspec import Struct


class TorchKind(enum.StrEnum):
    """Source of the exports of a torch build."""

    INSTALLED = "installed"
    RELEASE = "release"
    PATH = "path"


class TorchBuild(Struct, frozen=True):
    """The torch build that imports are resolved against.

    Attributes:
        version: public version without a label (`2.6.0`).
        variant: from the local label (`cpu`, `cu124`, `rocm6.2`).
        cxx11_abi: whether it uses the new std::string ABI (detected from its exports).
        note: remark about the choice for the user ("no torch is installed: the newest known build is used").
        python: the interpreter that exports the `Py*` names, if one was found.
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
        """`2.6.0+cu124`; `2.6.0` if the variant is unknown."""
        return f"{self.version}+{self.variant}" if self.variant else self.version


class TargetSource(enum.StrEnum):
    """Sources of the parts of a target environment, in order of precedence."""

    COMMAND_LINE = "command-line"
    ENVIRONMENT = "environment"
    """Installed in the environment of the file."""
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
    FILE = "file"
    """The format and architecture of the file itself."""
    BUILD = "build"
    """The requirements of the torch build."""
    NEWEST_KNOWN = "newest-known"
    MACHINE = "machine"


class TargetPart(Struct, frozen=True):
    """One part of a target environment.

    Attributes:
        value: such as `2.8.0+cu128`, `3.11`, `>=3.9`, `CUDA 12`, `glibc 2.28`.
        detected_from: the text from which it was read (`Requires-Dist: torch==2.8.0`).
    """

    value: str
    source: TargetSource
    detected_from: str


class TargetEnvironment(Struct, frozen=True):
    """The environment that one file is checked against; unknown parts are None.

    Attributes:
        torch: the release that its imports are resolved against.
        torch_build: the build of that release; None if the build for which the file is made is not known.
        python: the CPython that imports it; `>=3.9` for every one from 3.9 on; suffix `t` for free-threaded.
        gpu: major version of CUDA or ROCm in the torch build; `none` for a CPU build.
        platform: the oldest C library with which it must load; for Windows and macOS, the system and architecture.
        device: GPUs on which its device code must run; None if none is given.
        driver: driver of the NVIDIA GPUs among them; None if none is given or it does not matter.
    """

    torch: TargetPart | None = None
    torch_build: TorchBuild | None = None
    python: TargetPart | None = None
    gpu: TargetPart | None = None
    platform: TargetPart | None = None
    device: TargetPart | None = None
    driver: TargetPart | None = None

    @property
    def takes_the_torch_of_the_run(self) -> bool:
        """Whether the file declares no torch."""
        return self.torch is not None and self.torch.source in _TORCH_WORDS

    @property
    def torch_words(self) -> str:
        """Description of the torch by its source, for a sentence."""
        return _TORCH_WORDS.get(self.torch.source if self.torch is not None else None, "the declared torch")


_TORCH_WORDS: dict[TargetSource | None, str] = {
    TargetSource.COMMAND_LINE: "the torch of the command line",
    TargetSource.ENVIRONMENT: "the installed torch",
    TargetSource.NEWEST_KNOWN: "the newest known release for its tags",
}
