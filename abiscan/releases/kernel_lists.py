"""GPU architectures for which released torch builds have kernels, from the list compiled into each build.

It is the text of `torch.cuda.get_arch_list()`: `CUDA_ARCH_FLAGS` of pytorch's CMake, which torch/csrc/cuda/Module.cpp
compiles into libtorch_python. Single kernels are compiled for more (`sm_90a` of the scaled matrix products), but the
list says where the build as a whole runs. `tools/build_kernel_lists.py` reads it from the wheels.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

import msgspec

from abiscan.data import data_file
from abiscan.releases.build import Build

TABLE = "kernel_lists.json"
# At least two entries, as no torch build has fewer. A compiler may move the start of a longer text into code, so there
# need not be a zero byte before it.
_LIST = re.compile(rb"(?:(?:sm|compute)_\d{2,3}[af]? )+(?:sm|compute)_\d{2,3}[af]?(?=\0)")


def kernel_list(build: Build) -> tuple[str, ...] | None:
    """`sm_75`, `compute_90`, ... of a build; None if unknown, as for builds of the user's index."""
    return None if build.user else _table().get(build.key)


def list_in(libtorch_python: bytes) -> tuple[str, ...]:
    """The list in the bytes of a libtorch_python; empty if there is none or more than one."""
    found = {match[0] for match in _LIST.finditer(libtorch_python)}
    return tuple(found.pop().decode("ascii").split()) if len(found) == 1 else ()


@functools.cache
def _table() -> Mapping[str, tuple[str, ...]]:
    with open(data_file(TABLE), "rb") as file:
        return msgspec.json.decode(file.read(), type=dict[str, tuple[str, ...]])
