"""The version of NVIDIA's driver on this machine, independent of `--root`.

The library that a process loads compiles PTX, and its file name has the version; without such a library, the version of
the kernel module is used (https://docs.nvidia.com/deploy/cuda-compatibility/, "Forward Compatibility": the two may
differ). The library is not opened and no device is queried.
"""

from __future__ import annotations

import re

from abiscan.filesystem import HERE
from abiscan.model.cuda_driver import driver_branch

LIBRARY = "libcuda.so.1"
_KERNEL_MODULE = "/proc/driver/nvidia/version"
_MAX_TEXT = 4096
# "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 ...", or
# "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build ...".
_IN_TEXT = rb"^NVRM version:.*?\s(\d{3}\.\d+(?:\.\d+)?)\s"


def driver_here(library: str | None, kernel_module: str = _KERNEL_MODULE) -> tuple[str, str] | None:
    """(version, its source); None without a driver of known version.

    Args:
        library: the libcuda.so.1 that a process here loads; None for none.
    """
    if library is not None:
        version = HERE.real(library).rpartition(".so.")[2]
        if driver_branch(version) is not None:
            return version, library
    found = re.search(_IN_TEXT, HERE.read(kernel_module, _MAX_TEXT) or b"")
    return None if found is None else (found[1].decode("ascii"), kernel_module)
