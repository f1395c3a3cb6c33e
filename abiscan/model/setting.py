"""What a file is judged in, and who says so: the torch, the Python, the GPU libraries and the system."""

from __future__ import annotations

import enum

from msgspec import Struct


class Source(enum.StrEnum):
    """Who says a part of a setting, the strongest first."""

    COMMAND_LINE = "command-line"
    ENVIRONMENT = "environment"
    """What is installed in the environment that is looked at."""
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
    """What the chosen build of torch brings by its own requirements."""
    NEWEST_KNOWN = "newest-known"
    MACHINE = "machine"


class Stated(Struct, frozen=True):
    """One part of a setting.

    Attributes:
        value: as a person writes it: `2.8.0+cu128`, `3.11`, `>=3.9`, `CUDA 12`, `glibc 2.28`.
        because: what was read, for a person (`Requires-Dist: torch==2.8.0`).
    """

    value: str
    source: Source
    because: str


class Setting(Struct, frozen=True):
    """What one file is judged in; a part that nobody states is None.

    Attributes:
        torch: the build that its imports are resolved against.
        python: the CPython that imports it, `>=3.9` for every one from 3.9 on; a `t` behind it: free-threaded.
        gpu: the major version of CUDA or ROCm whose libraries the torch build brings; `none` for a CPU build.
        system: the oldest C library that it must load with.
        device: the GPUs on which its device code must run; None where nobody names one.
        driver: of those GPUs that are NVIDIA's; None where nobody asks for it, and it decides nothing.
    """

    torch: Stated | None = None
    python: Stated | None = None
    gpu: Stated | None = None
    system: Stated | None = None
    device: Stated | None = None
    driver: Stated | None = None

    @property
    def torch_words(self) -> str:
        """Which torch that is, by who says so, for a sentence: only what a file declares is the torch it is for."""
        return _TORCH_WORDS.get(self.torch.source if self.torch is not None else None, "the torch that it is for")


_TORCH_WORDS: dict[Source | None, str] = {
    Source.COMMAND_LINE: "the torch that was named",
    Source.ENVIRONMENT: "the torch that is installed",
    Source.NEWEST_KNOWN: "the newest known release for its tags",
}
