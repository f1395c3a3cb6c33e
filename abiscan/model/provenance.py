"""What a file tells about how it was made."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.cause import Confidence
from abiscan.model.device_code import GpuImage, GpuModule
from abiscan.model.versions import ReleaseRanges


class Topic(enum.StrEnum):
    """What a fact of provenance is about, in the order in which they are told."""

    COMPILER = "compiler"
    STRING_ABI = "string-abi"
    """Of all names of the file, torch's or not: `new`, `old`, `mixed`."""
    CXX_LIBRARY = "cxx-library"
    """`libstdc++`, `libc++`: whose names it imports."""
    DEBUG_MODE = "debug-mode"
    """_GLIBCXX_DEBUG, _GLIBCXX_ASSERTIONS, a sanitizer: what changes layouts or needs a runtime."""
    TORCH = "torch"
    TORCH_LABEL = "torch-label"
    """A local version label (`+cu121`) of the file's folder, name or distribution."""
    PYBIND11 = "pybind11"
    """The id of pybind11's internals: modules share types where these are equal."""
    PYTHON_ABI = "python-abi"
    """`cp311`, `cp313t`, `abi3`, or how far its names are those of the limited API."""
    PYTHON_FLOOR = "python-floor"
    """The lowest CPython with all the names that it imports."""
    CUDA = "cuda"
    GPU = "gpu"
    GLIBC = "glibc"
    GLIBCXX = "glibcxx"
    CXXABI = "cxxabi"
    GCC = "gcc"
    """Symbol versions of libgcc_s."""
    MANYLINUX = "manylinux"
    """The oldest manylinux tag whose symbol versions suffice."""
    INSTRUCTION_SET = "instruction-set"
    EXECUTABLE_STACK = "executable-stack"
    RUN_PATH = "run-path"
    """A directory of the machine on which it was built."""
    BUNDLED_RUNTIME = "bundled-runtime"
    """A copy of a library of which a process should have one."""
    AOTINDUCTOR = "aotinductor"


class ProvenanceFact(Struct, frozen=True):
    """One thing that a file tells of its making.

    Attributes:
        value: short, as a person writes it (`GCC 13.2.1`, `2.28`, `manylinux_2_28`).
        source: what was read (`.comment`, `pthread_create@GLIBC_2.34`), for a person.
    """

    topic: Topic
    value: str
    source: str
    confidence: Confidence = Confidence.HIGH


class Provenance(Struct, frozen=True):
    """How a file was made, as far as it shows; a field that it does not show is None or empty.

    Attributes:
        compilers: strings of .comment.
        cxx11_abi: which std::string its torch imports use.
        torch_releases: the releases that export all its torch imports, intersected.
        built_for: the release it was made for, and `built_for_source` what that rests on.
        python_abi: `cp311`, `abi3`, or None.
        cuda: CUDA runtime version it was built with or links to.
        gpu_archs: `sm_90`, `sm_90a`, `compute_90` (PTX), `gfx942`.
        abi: `stable` (only C shims), `unstable` (at::, c10::, torch::), or `none`.
        facts: all of this and more, each with its source, in the order of `Topic`.
        gpu_images, gpu_modules: the device code, see `DeviceImages`; gpu_not_read: why that may not be all of it.
    """

    compilers: tuple[str, ...] = ()
    cxx11_abi: bool | None = None
    torch_releases: ReleaseRanges | None = None
    built_for: str | None = None
    built_for_source: str | None = None
    python_abi: str | None = None
    cuda: str | None = None
    gpu_archs: tuple[str, ...] = ()
    abi: str | None = None
    glibc_needed: str | None = None
    libstdcxx_needed: str | None = None
    facts: tuple[ProvenanceFact, ...] = ()
    gpu_images: tuple[GpuImage, ...] = ()
    gpu_modules: tuple[GpuModule, ...] = ()
    gpu_not_read: str | None = None
