"""The GPUs that the released builds of torch have kernels for, by the list that each was compiled with.

`torch.cuda.get_arch_list()` answers with the same text: `CUDA_ARCH_FLAGS` of pytorch's CMake, which
torch/csrc/cuda/Module.cpp compiles into libtorch_python. Single kernels are compiled for more (`sm_90a` of the scaled
matrix products); what a build as a whole runs on is this list. `tools/build_kernel_lists.py` reads it from the wheels.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

import msgspec

from abiscan.data import data_file
from abiscan.releases.build import Build

TABLE = "kernel_lists.json"
# At least two, as no build of torch has fewer. A compiler that puts the head of a longer text into code leaves no zero
# byte in front.
_LIST = re.compile(rb"(?:(?:sm|compute)_\d{2,3}[af]? )+(?:sm|compute)_\d{2,3}[af]?(?=\0)")


def kernel_list(build: Build) -> tuple[str, ...] | None:
    """`sm_75`, `compute_90`, ... of a build; None where it is not known, as of those of a user's own index."""
    return None if build.user else _table().get(build.key)


def list_in(libtorch_python: bytes) -> tuple[str, ...]:
    """The list among the bytes of a libtorch_python; empty where there is none, or more than one."""
    found = {match[0] for match in _LIST.finditer(libtorch_python)}
    return tuple(found.pop().decode("ascii").split()) if len(found) == 1 else ()


@functools.cache
def _table() -> Mapping[str, tuple[str, ...]]:
    with open(data_file(TABLE), "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, tuple[str, ...]])
