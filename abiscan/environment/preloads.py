"""What `import torch` loads into the process, in its order.

Which extension modules of the standard library and of numpy it brings was observed (dl_iterate_phdr on CPython 3.11
with torch 2.13); those that later interpreters add (_zstd, _sha2) are from their sources. They matter only where one of
their libraries, already loaded, answers for a library that a file needs.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator

from abiscan.environment.installed_torch import InstalledTorch

# `ctypes` itself, by which a library is opened.
CTYPES = ("_ctypes", "_struct")
BEFORE_TORCH = (
    *("_opcode", "math", "_typing", "_socket", "_pickle", "zlib", "_bz2", "_lzma", "_zstd", "_bisect", "_random"),
    *("_sha512", "_sha2", "_json", "fcntl", "_posixsubprocess", "select", "_datetime", "array"),
)
NUMPY = (
    ("_core/_multiarray_umath", "core/_multiarray_umath"),
    ("linalg/_umath_linalg",),
)
# numpy before 2 imports its FFT and random modules at once.
OLD_NUMPY = (
    ("core/_multiarray_tests",),
    ("fft/_pocketfft_internal", "fft/_pocketfft_umath"),
    *((f"random/{name}",) for name in ("mtrand", "bit_generator", "_common", "_bounded_integers", "_mt19937")),
    *((f"random/{name}",) for name in ("_philox", "_pcg64", "_sfc64", "_generator")),
)
AFTER_TORCH = (
    *("_contextvars", "_heapq", "grp", "mmap", "binascii", "_queue", "_hashlib", "_blake2", "_csv", "cmath", "_uuid"),
    *("_ssl", "_multiprocessing", "_posixshmem", "_asyncio"),
)
# torch/__init__.py, _preload_cuda_deps: folder below site-packages/nvidia, pattern of a file in its lib, in its order.
_CUDA_PRELOADS = (
    *(("cublas", "libcublasLt.so.*[0-9]"), ("cublas", "libcublas.so.*[0-9]"), ("cudnn", "libcudnn.so.*[0-9]")),
    *(("cuda_nvrtc", "libnvrtc.so.*[0-9]"), ("cuda_nvrtc", "libnvrtc-builtins.so.*[0-9]")),
    *(("cuda_runtime", "libcudart.so.*[0-9]"), ("cuda_cupti", "libcupti.so.*[0-9]")),
    *(("cufft", "libcufft.so.*[0-9]"), ("curand", "libcurand.so.*[0-9]"), ("nvjitlink", "libnvJitLink.so.*[0-9]")),
    *(("cusparse", "libcusparse.so.*[0-9]"), ("cusparselt", "libcusparseLt.so.*[0-9]")),
    *(("cusolver", "libcusolver.so.*[0-9]"), ("nccl", "libnccl.so.*[0-9]")),
    *(("nvshmem", "libnvshmem_host.so.*[0-9]"), ("cufile", "libcufile.so.*[0-9]"), ("nvtx", "libnvToolsExt.so.*[0-9]")),
)
# torch/__init__.py, _load_global_deps: it preloads CUDA's libraries once a loaded one has this in its path.
CUDA_RUNTIME = "libcudart.so"


def global_dependencies(torch: InstalledTorch) -> str:
    """The library that `import torch` opens first, and into the global scope; a build may lack it."""
    return os.path.join(torch.library_dir, "libtorch_global_deps.so")


def cuda_libraries(site_packages: Iterable[str]) -> Iterator[str]:
    """Paths of the CUDA libraries that packages have installed and torch opens by path, in its order.

    Args:
        site_packages: directories of packages, in the order in which they are searched.
    """
    directories = tuple(site_packages)
    for folder, pattern in _CUDA_PRELOADS:
        path = _first_match(folder, pattern, directories)
        if path is not None:
            yield path


def _first_match(folder: str, pattern: str, site_packages: tuple[str, ...]) -> str | None:
    for site in site_packages:
        # CUDA 13's wheels put all libraries into one folder (nvidia/cu13/lib).
        for directory in (f"{site}/nvidia/{folder}/lib", f"{site}/nvidia/cu13/lib"):
            try:
                names = sorted(os.listdir(directory))
            except OSError:
                continue
            for name in names:
                if fnmatch.fnmatchcase(name, pattern):
                    return f"{directory}/{name}"
    return None
