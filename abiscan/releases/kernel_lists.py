"""GPU architectures for which released torch builds have kernels, from the list compiled into each build.

It is the text of `torch.cuda.get_arch_list()`: `CUDA_ARCH_FLAGS` of pytorch's CMake, which torch/csrc/cuda/Module.cpp
compiles into libtorch_python. Single kernels are compiled for more (`sm_90a` of the scaled matrix products), but the
list says where the build as a whole runs. `tools/build_kernel_lists.py` reads it from the wheels.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from abiscan.data import read_table
from abiscan.model.gpu_architecture import Runs, parse_architecture, runs_on
from abiscan.model.versions import order
from abiscan.releases.build import Build

TABLE = "kernel_lists.json"


def kernel_list(build: Build) -> tuple[str, ...] | None:
    """`sm_75`, `compute_90`, ... of a build; None if unknown, as for builds of the user's index."""
    return None if build.user else _table().get(build.key)


def has_code(key: str, gpu: str) -> bool | None:
    """Whether a build (`2.8.0+cu128-x86_64`) has code for a GPU (`7.0`); None if its list or the GPU is unknown."""
    listed, there = _table().get(key), parse_architecture(gpu)
    return None if listed is None or there is None else any(runs_on(each, there) is Runs.YES for each in listed)


def newest_with(gpu: str) -> tuple[str, str] | None:
    """Version and variant of the newest listed x86-64 build with code for a GPU (`sm_37`); None if none is known."""
    keys = [key.removesuffix("-x86_64") for key, gpus in _table().items() if gpu in gpus and key.endswith("-x86_64")]
    newest = max(keys, key=lambda key: order(key) or (), default="")
    version, _, variant = newest.partition("+")
    return (version, variant) if newest else None


@functools.cache
def _table() -> Mapping[str, tuple[str, ...]]:
    return read_table(TABLE, dict[str, tuple[str, ...]])
