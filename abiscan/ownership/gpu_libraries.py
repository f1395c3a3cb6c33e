"""Whether the CUDA and ROCm libraries that a file needs match those that a torch build provides."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from msgspec import Struct

from abiscan.model.imports import Owner
from abiscan.ownership.names import owner_of_library
from abiscan.ownership.vendors import library_stem, other_version_provided

# Parts of the NVIDIA driver: installed on the machine that loads the file, and never part of a build of torch.
_DRIVER = frozenset(
    {
        *("cuda", "nvcuvid", "nvidia-ml", "nvidia-encode", "nvidia-opticalflow", "nvidia-ptxjitcompiler"),
        *("nvcuda", "nvml", "nvEncodeAPI"),  # of Windows
    }
)
# The runtime that every file with device code needs, and every build with CUDA provides or requires.
_RUNTIME = "cudart"
# Libraries with the toolkit release in their soname; cuFFT, cuSPARSE, cuSOLVER, cuRAND and cuDNN have numbers of their
# own (libcufft.so.11 of CUDA 12, libcusparse.so.12 of CUDA 13).
_TOOLKIT = r"^lib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink|(amdhip64))\.so\.(\d+)(?:\.(\d+))?"
# `cudart64_110.dll` is from CUDA 11, `cudart64_12.dll` and `nvrtc64_120_0.dll` are from 12.
_TOOLKIT_OF_WINDOWS = r"(?i)^(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)64_(\d\d)(?:\d)?(?:_\d+)*\.dll$"


def _major(runtime: str) -> str:
    found = find_toolkit((runtime,))
    return "" if found is None else found.version.partition(".")[0]


# The runtime, and the libraries that only builds of torch with CUDA have.
_GPU_BUILD = ("libcudart", "libc10_cuda", "libtorch_cuda", "cudart64", "c10_cuda", "torch_cuda")


def needs_gpu_build(sonames: Iterable[str]) -> bool:
    """Whether needed libraries come with a CUDA build of torch only."""
    return any(soname.startswith(_GPU_BUILD) for soname in sonames)


class Toolkit(Struct, frozen=True):
    """The toolkit that a file is linked with.

    Attributes:
        kind: `CUDA` or `ROCm`.
        version: `12`, or `11.2` if the soname has a minor version.
        soname: the needed library from which it was detected.
    """

    kind: str
    version: str
    soname: str


def find_toolkit(sonames: Iterable[str]) -> Toolkit | None:
    """The toolkit of the first needed library with a toolkit release in its soname; None if there is none."""
    for soname in sonames:
        found = re.match(_TOOLKIT, soname) if soname.startswith(("libcu", "libnv", "libamd")) else None
        if found is not None:
            version = found[2] if found[3] in (None, "0") else f"{found[2]}.{found[3]}"
            return Toolkit("ROCm" if found[1] else "CUDA", version, soname)
        of_windows = re.match(_TOOLKIT_OF_WINDOWS, soname) if soname.endswith(".dll") else None
        if of_windows is not None:
            return Toolkit("CUDA", of_windows[1], soname)
    return None


def is_driver(soname: str) -> bool:
    """Whether a library is part of the GPU driver (`libcuda.so.1`)."""
    return library_stem(soname) in _DRIVER


def fits_gpu(soname: str, provided: Collection[str]) -> bool:
    """Whether a needed library is available with a torch build that provides these libraries, or may come from
    elsewhere. It is not if the build provides another version of it, nor is the CUDA runtime if the build provides
    none."""
    if owner_of_library(soname) not in (Owner.CUDA, Owner.HIP) or is_driver(soname) or soname in provided:
        return True
    if other_version_provided(soname, provided) is not None:
        return False
    return library_stem(soname) != _RUNTIME


def unfit_gpu(sonames: Collection[str], provided: Collection[str]) -> str | None:
    """Why a build does not fit the first of some libraries that it does not fit: `CUDA 13`, `no CUDA`; None if it fits
    all."""
    for soname in sonames:
        if not fits_gpu(soname, provided):
            other = next((name for name in provided if library_stem(name) == _RUNTIME), None)
            return "no CUDA" if other is None else f"CUDA {_major(other)}"
    return None
