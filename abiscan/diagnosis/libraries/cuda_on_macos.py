"""cuda-build-required on macOS, for which no CUDA exists: no search path and no other torch has what is missing.

CUDA 10.2 is the last release for macOS (https://docs.nvidia.com/cuda/archive/10.2/cuda-toolkit-release-notes/), and
torch's wheels for macOS are built without CUDA (https://pytorch.org/get-started/locally/). A torch for macOS that needs
CUDA was built from source for such an old release, and is left to the other causes.
"""

from __future__ import annotations

import re

from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of, is_of_cuda
from abiscan.diagnosis.fixes.wheel_rows import platform_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import NVIDIA
from abiscan.model.imports import Owner

_VERSION = r"(?:\.\d{1,8}){1,4}(?=\.dylib$)"


def is_mac_without_cuda(missing: MissingName) -> bool:
    """Whether the error is from macOS, and the text names no GPU of NVIDIA."""
    return platform_of(missing) == "macosx" and gpu_vendor_of(missing) != NVIDIA


def needs_library(name: str, missing: MissingName) -> bool:
    """Whether a missing library is of CUDA, or of torch for CUDA, on macOS."""
    of_macos = name.endswith(".dylib") or "darwin" in missing.file.path or is_mac_without_cuda(missing)
    return of_macos and not missing.file.is_torch_itself and is_of_cuda(re.sub(_VERSION, "", name))


def needs_symbol(missing: MissingName) -> bool:
    """Whether a missing symbol is of CUDA, or of torch for CUDA, on macOS."""
    if missing.file.is_torch_itself or not (missing.reference.macos or is_mac_without_cuda(missing)):
        return False
    return missing.owner is Owner.CUDA or (
        missing.cxx is not None and missing.is_torch_name and "cuda" in missing.cxx.scope
    )
