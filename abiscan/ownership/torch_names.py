"""Names of torch: libraries, namespaces, C functions. They are listed only here.

Collected from the builds in the release index; names of releases before 1.13 from their sources.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable

from abiscan.model.platforms import file_key

NAMESPACES = frozenset(("at", "c10", "torch", "caffe2", "c10d", "onnx_torch"))
"""Namespaces that torch's public headers declare."""

_PLUGIN_SCOPES = ("torch_", "c10_", "at_")


PLUGIN_BACKENDS = frozenset(("npu", "musa", "mlu", "gcu", "supa", "hpu", "sdaa", "dml", "maca", "vastai", "tpu"))
"""Backends of plugins, which define names in `c10::musa`, `at::musa`, `torch::musa`. No torch exports such names."""


def is_plugin_namespace(name: str) -> bool:
    """Whether a namespace is named like those of projects built on torch (`torch_npu`, `c10_npu`, `c10::musa`)."""
    return name.startswith(_PLUGIN_SCOPES) or is_device_plugin(name)


def is_device_plugin(namespace: str) -> bool:
    """Whether a namespace is that of a plugin for a device (`torch_gcu`, `c10_npu`, `c10::musa`)."""
    outer, _, backend = namespace.replace("::", "_").partition("_")
    return outer in NAMESPACES and backend in PLUGIN_BACKENDS


def plugin_backends(needed: Iterable[str]) -> frozenset[str]:
    """The backends of plugins among needed libraries: `supa` for `libtorch_supa.so` or `libc10_supa.so`, which no torch
    ships. Such a plugin defines names in `c10::supa`, `at::supa`, `torch::supa`."""
    stems = (torch_stem(name) or "" for name in needed if not is_torch_library(name))
    return frozenset(stem.partition("_")[2] for stem in stems if stem.startswith(("libtorch_", "libc10_")))


SHIM_PREFIXES = ("aoti_torch_", "torch_")
"""Prefixes of the C shims of the stable ABI (torch/csrc/inductor/aoti_torch/c, torch/csrc/stable/c)."""

_BINDING_PREFIXES = ("THP", "THC", "__THC", "THD", "THS", "TH_")
BEGINNINGS = (*(f"{each}::" for each in sorted(NAMESPACES)), *_BINDING_PREFIXES)
"""Prefixes of qualified names of classes that torch's headers declare."""

# TH and THNN, the C libraries up to torch 1.x: THNN_FloatLinear_updateOutput, THFloatTensor_new, THAlloc.
_OLD_PREFIXES = (
    *("THNN", "THTensor", "THStorage", "THGenerator", "THRandom", "THAlloc", "THFile", "THMemoryFile", "THDiskFile"),
    *("THFloat", "THDouble", "THHalf", "THLong", "THInt", "THShort", "THByte", "THChar", "THBool", "THRefcounted"),
)
_C_PREFIXES = (
    *SHIM_PREFIXES,
    *_BINDING_PREFIXES,
    *_OLD_PREFIXES,
    *("_torch_", "_pytorch_", "at_cuda_", "c10_", "caffe2_", "FLAGS_caffe2_", "FLAGS_torch_", "AOTI", "aoti_"),
    *("initModule", "DisableTorch", "ParameterClass"),
)

# Libraries that torch had up to 1.0, which are not in the release index.
_FORMER = ("libATen", "libATen_cuda", "libATen_cpu", "libTH", "libTHC", "libTHCUNN", "libTHD", "libTHNN", "libTHS")
# Torch libraries without suffix. Other names with the prefix libtorch (libtorchaudio, libtorch_npu) are not torch's.
_LIBRARIES = frozenset(
    (
        *("libtorch", "libtorch_cpu", "libtorch_cuda", "libtorch_hip", "libtorch_xpu", "libtorch_mps", "libtorch_mtia"),
        *("libtorch_python", "libtorch_global_deps", "libtorch_nvshmem", "libtorch_cuda_linalg"),
        *("libtorch_cuda_cpp", "libtorch_cuda_cu", "libc10", "libc10_cuda", "libc10_hip", "libc10_xpu", "libshm"),
        *("libc10d", "libcaffe2", "libcaffe2_gpu", "libcaffe2_nvrtc", "libcaffe2_observers", "libnvfuser_codegen"),
        # Libraries of its tests.
        *(
            "libc10d_cuda_test",
            "libtorchbind_test",
            "libaoti_custom_ops",
            "libjitbackend_test",
            "libbackend_with_compiler",
        ),
        *_FORMER,
    )
)
_LIBRARY_PREFIXES = ("libtorch_xpu_ops", "libtorch-xpu-ops", "libcaffe2_detectron_ops", "libcaffe2_module")
# Every library in torch/lib with one of these prefixes is torch's own, except those of its tests.
_IN_ITS_FOLDER = ("libtorch", "libc10", "libshm", "libcaffe2", "libnvfuser")
_OF_ITS_TESTS = ("libtorchbind_test", "libtorch_test")  # which extensions don't link to

ACCELERATOR_LIBRARIES = {
    "libc10_cuda.so": "CUDA",
    "libtorch_cuda.so": "CUDA",
    "libtorch_cuda_linalg.so": "CUDA",
    "libtorch_nvshmem.so": "CUDA",
    "libc10_hip.so": "ROCm",
    "libtorch_hip.so": "ROCm",
    "libc10_xpu.so": "XPU",
    "libtorch_xpu.so": "XPU",
}
"""Libraries that every build for an accelerator ships, and no other build."""

# Torch library -> torch libraries that it loads into the scope (its DT_NEEDED, the same in every release; libraries
# that a build does not have are ignored).
_LOADS: dict[str, tuple[str, ...]] = {
    "libtorch_python": ("libtorch", "libshm"),
    "libtorch": ("libtorch_cpu", "libtorch_cuda", "libtorch_hip", "libtorch_xpu", "libc10"),
    "libshm": ("libtorch_cpu", "libc10"),
    "libtorch_cuda": ("libtorch_nvshmem", "libtorch_cpu", "libc10_cuda", "libc10"),
    "libtorch_cuda_linalg": ("libtorch_cuda", "libtorch_cpu", "libc10_cuda", "libc10"),
    "libtorch_nvshmem": ("libtorch_cpu", "libc10"),
    "libtorch_hip": ("libtorch_cpu", "libc10_hip", "libc10"),
    "libtorch_xpu": ("libtorch_cpu", "libc10_xpu", "libc10"),
    "libtorch_cpu": ("libc10",),
    "libtorch_global_deps": (),
    "libc10": (),
    "libc10_cuda": ("libc10",),
    "libc10_hip": ("libc10",),
    "libc10_xpu": ("libc10",),
}
# For the smaller ones (libtorchbind_test, libaoti_custom_ops).
_USUAL = ("libtorch", "libtorch_cpu", "libc10")


def is_torch_name(base: str) -> bool:
    """Whether a C name is torch's own."""
    return base.startswith(_C_PREFIXES)


def is_former_source_name(name: str) -> bool:
    """Whether a name in sources exists only in headers of older torch releases: AT_CHECK, AT_WARN, TH and THC."""
    return name in ("AT_CHECK", "AT_WARN") or name.startswith((*_OLD_PREFIXES, "THC", "THArgCheck", "THError"))


def is_macro(name: str) -> bool:
    """Whether a name is spelled like the macros of torch's headers (`TORCH_CHECK`, `AT_DISPATCH_ALL_TYPES`)."""
    return name.isupper() and name.startswith(("TORCH_", "AT_", "C10_"))


def is_header(path: str) -> bool:
    """Whether the header of an `#include` is torch's (`ATen/ATen.h`, `torch/extension.h`)."""
    return path.startswith(("ATen/", "c10/", "torch/", "caffe2/"))


def is_torch_function(base: str) -> bool:
    """Whether a C++ function or class of the global namespace is torch's (Python binding, TH). Names such as torch_f
    there belong to an extension."""
    return base.startswith((*_BINDING_PREFIXES, *_OLD_PREFIXES))


@functools.lru_cache(maxsize=1024)
def is_torch_library(name: str, packaged: frozenset[str] = frozenset()) -> bool:
    """Whether a library is torch's own, of any variant, release and system.

    Args:
        name: its file name or path.
        packaged: the libraries of the importing file's package that only have the name of one (`is_namesake`).
    """
    stem = torch_stem(name)
    named = stem in _LIBRARIES or (stem is not None and stem.startswith(_LIBRARY_PREFIXES))
    return named and not (packaged and file_key(name) in packaged)


def is_namesake(name: str) -> bool:
    """Whether a library in a package with the name of a torch library is the package's own: nvFuser's
    libnvfuser_codegen. `import torch` does not load torch's library of that name, so that the loader finds the
    package's."""
    return is_torch_library(name) and torch_stem(name) not in _LOADS


def is_former_library(name: str) -> bool:
    """Whether a library is one that torch had up to 1.0."""
    return torch_stem(name) in _FORMER


def is_of_torch_folder(name: str) -> bool:
    """Whether a library that lies in torch/lib is torch's own: also one of a release that is not known yet. Others'
    (libgomp, CUDA's, MKL's) lie there too."""
    stem = torch_stem(name)
    return stem is not None and stem.startswith(_IN_ITS_FOLDER) and not stem.startswith(_OF_ITS_TESTS)


def is_torch_module(path: str) -> bool:
    """Whether a file is an extension module of torch (`torch/_C.cpython-311-x86_64-linux-gnu.so`); before 0.4.1 it had
    several (`torch/_thnn/_THNN.cpython-36m-x86_64-linux-gnu.so`)."""
    folder, _, base = path.replace("\\", "/").rpartition("/")
    module = base.partition(".")[0]
    return module in _MODULE_FOLDERS and f"/{folder}".endswith(_MODULE_FOLDERS[module])


_MODULE_FOLDERS = {"_C": "/torch", "_THNN": "/torch/_thnn", "_THCUNN": "/torch/_thnn"}


def accelerator_of(library: str) -> str | None:
    """`CUDA`, `ROCm` or `XPU` for a torch library of an accelerator; None for the others."""
    return next((kind for word, kind in _ACCELERATORS if word in library), None)


_ACCELERATORS = (("cuda", "CUDA"), ("nvshmem", "CUDA"), ("nvrtc", "CUDA"), ("hip", "ROCm"), ("xpu", "XPU"))


def torch_stem(name: str) -> str | None:
    """Return `libtorch_cpu` for `/x/libtorch_cpu.so.2`, `libtorch_cpu.dylib`, `torch_cpu.dll`; None for other files."""
    base = name.replace("\\", "/").rpartition("/")[2]
    stem, suffix, version = base.partition(".so")
    if suffix:
        return stem if not version.strip(".0123456789") else None
    if base[-4:].lower() == ".dll":
        stem = base[:-4].lower()
        return stem if stem.startswith("lib") else f"lib{stem}"
    stem, suffix, _ = base.partition(".dylib")
    return stem if suffix else None


def in_scope(needed: Iterable[str], libraries: Collection[str]) -> frozenset[str]:
    """The `libraries` (sonames) of a build that are in the scope of a file that needs `needed`."""
    reached: set[str] = set()
    waiting = [name for name in needed if name in libraries]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        reached.add(name)
        loaded = _LOADS.get(name.partition(".so")[0], _USUAL)
        waiting += [f"{other}.so" for other in loaded if f"{other}.so" in libraries]
    return frozenset(reached)
