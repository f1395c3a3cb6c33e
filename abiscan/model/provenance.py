"""Provenance of a file: how it was built, detected from the file."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.cause import Confidence
from abiscan.model.device_code import GpuImage, GpuModule
from abiscan.model.versions import ReleaseRanges


class Topic(enum.StrEnum):
    """Topics of provenance facts, in the order of the report."""

    COMPILER = "compiler"
    STRING_ABI = "string-abi"
    """std::string ABI of all names in the file: `new`, `old` or `mixed`."""
    CXX_LIBRARY = "cxx-library"
    """C++ standard library that it imports from: `libstdc++` or `libc++`."""
    DEBUG_MODE = "debug-mode"
    """Build modes that change layouts or need a runtime: _GLIBCXX_DEBUG, _GLIBCXX_ASSERTIONS, sanitizers."""
    TORCH = "torch"
    TORCH_LABEL = "torch-label"
    """A local version label (`+cu121`) of the file's folder, name or distribution."""
    PYBIND11 = "pybind11"
    """Id of the pybind11 internals: modules with equal ids share types."""
    PYTHON_ABI = "python-abi"
    """`cp311`, `cp313t`, `abi3`, or the part of its names that is in the limited API."""
    PYTHON_FLOOR = "python-floor"
    """The oldest CPython that exports all names that it imports."""
    CUDA = "cuda"
    GPU = "gpu"
    GLIBC = "glibc"
    GLIBCXX = "glibcxx"
    CXXABI = "cxxabi"
    GCC = "gcc"
    """Symbol versions of libgcc_s."""
    MANYLINUX = "manylinux"
    """The oldest manylinux tag that guarantees its symbol versions."""
    INSTRUCTION_SET = "instruction-set"
    EXECUTABLE_STACK = "executable-stack"
    RUN_PATH = "run-path"
    """A directory of the build machine."""
    BUNDLED_RUNTIME = "bundled-runtime"
    """A bundled copy of a library that a process should load once."""
    AOTINDUCTOR = "aotinductor"


class ProvenanceFact(Struct, frozen=True):
    """One fact about the build of a file.

    Attributes:
        value: short text (`GCC 13.2.1`, `2.28`, `manylinux_2_28`).
        source: where it was read (`.comment`, `pthread_create@GLIBC_2.34`).
    """

    topic: Topic
    value: str
    source: str
    confidence: Confidence = Confidence.HIGH


class Provenance(Struct, frozen=True):
    """How a file was built; unknown fields are None or empty.

    Attributes:
        compilers: strings of .comment.
        cxx11_abi: whether its torch imports use the new std::string ABI.
        torch_releases: the releases that export all of its torch imports.
        built_for: the release for which it was built; built_for_source: the evidence for that.
        python_abi: `cp311`, `abi3`, or None.
        cuda: version of the CUDA runtime with which it was built or linked.
        gpu_archs: `sm_90`, `sm_90a`, `compute_90` (PTX), `gfx942`.
        abi: `stable` (only C shims), `unstable` (at::, c10::, torch::), or `none`.
        facts: all facts with their sources, in the order of `Topic`.
        gpu_images, gpu_modules: the device code, see `DeviceImages`; gpu_not_read: why it may be incomplete.
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
