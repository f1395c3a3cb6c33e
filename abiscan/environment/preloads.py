"""What `import torch` loads into the process, in its order.

Which libraries it opens by path, its own source says (`torch_init`); where that cannot be read, the table of releases
that `tools/build_torch_preloads.py` makes of all of them.

Which extension modules of the standard library, of numpy and of cuda-bindings it brings was observed (dl_iterate_phdr
on CPython 3.11 to 3.13 with torch 2.4 to 2.15); those that later interpreters add (_zstd) are from their sources. They
matter only where one of their libraries, already loaded, answers for a library that a file needs.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable

import msgspec
from msgspec import Struct

from abiscan.data import data_file
from abiscan.environment.installed_torch import InstalledTorch
from abiscan.environment.preload_sequence import CUDA_MAJOR, Preload, Preloads
from abiscan.filesystem import HERE, FileSystem
from abiscan.model.python_version import PythonVersion
from abiscan.model.versions import order

# `ctypes` itself, by which a library is opened.
CTYPES = ("_ctypes", "_struct")
BEFORE_TORCH = (
    *("_opcode", "math", "_typing", "_socket", "_pickle", "zlib", "_bz2", "_lzma", "_zstd", "_bisect", "_random"),
    *("_sha512", "_sha2", "_json", "fcntl", "_posixsubprocess", "select", "_datetime", "array"),
)
# torch/hub.py imports tqdm where it is installed, and tqdm asks for the width of characters.
TQDM = ("unicodedata",)
NUMPY = ("_core/_multiarray_umath", "linalg/_umath_linalg")
# numpy before 2 imports its FFT and random modules at once. Where there are two names, a release has one of them.
OLD_NUMPY = (
    *("core/_multiarray_umath", "core/_multiarray_tests", "linalg/_umath_linalg"),
    *("fft/_pocketfft_internal", "fft/_pocketfft_umath"),
    *(f"random/{name}" for name in ("mtrand", "bit_generator", "_common", "_bounded_integers", "_mt19937")),
    *(f"random/{name}" for name in ("_philox", "_pcg64", "_sfc64", "_generator")),
)
AFTER_TORCH = (
    *("_contextvars", "_heapq", "grp", "mmap", "binascii", "_queue", "_hashlib", "_blake2", "_csv", "cmath", "_uuid"),
    *("_ssl", "_multiprocessing", "_posixshmem", "_asyncio"),
)
# From CPython 3.13 on `random` and `importlib.metadata` import these when they use them.
_LATER = ("_sha2", "_csv")
# torch/cuda/_utils.py imports `cuda.bindings.runtime` from 2.13 on, which brings the others; without the package
# cuda.pathfinder it comes no further than the first of them.
CUDA_BINDINGS = ("runtime", "driver", "cydriver", "_internal/driver", "_internal/utils")
CUDA_BINDINGS_WITH_PATHFINDER = ("cyruntime", "_internal/runtime", "_internal/runtime_ptds")
_IMPORTS_CUDA_BINDINGS = "\n    from cuda.bindings import"
# Larger by far than any: torch 2.15 has 133 kB.
_MAX_SOURCE = 1 << 20
_TABLE = "torch_preloads.json.gz"
# zlib's word for a gzip header around the data, with the largest window.
_GZIP = 16 + zlib.MAX_WBITS


def imported_at_once(names: Iterable[str], python: PythonVersion | None) -> list[str]:
    """Those modules of the standard library that an interpreter imports with what imports them."""
    return [name for name in names if python is None or python < PythonVersion(3, 13) or name not in _LATER]


def global_dependencies(torch: InstalledTorch) -> str:
    """The library that `import torch` opens first, and into the global scope; a build may lack it."""
    return os.path.join(torch.library_dir, "libtorch_global_deps.so")


class PreloadTable(Struct, frozen=True):
    """What the releases open.

    Attributes:
        rows: releases, oldest first, each with what holds from it on until the next.
        sources: size and CRC-32 of a release's `torch/__init__.py` (`132911-7f3a90c1`) -> the release of its row.
    """

    rows: tuple[tuple[str, Preloads], ...]
    sources: dict[str, str]


def preloads_of(torch: InstalledTorch) -> Preloads:
    """The libraries that this torch opens by path, by its own source; by its release where that does not tell."""
    content = torch.files.read(os.path.join(torch.root, "__init__.py"), _MAX_SOURCE)
    if content is None:
        return preloads_of_release(torch.torch)
    table = preload_table()
    # Following a source takes 10 ms; one that a release has has been followed already.
    known = table.sources.get(mark_of(content))
    if known is not None:
        return dict(table.rows)[known]
    from abiscan.environment.torch_init import UnknownSequence, read_preloads

    try:
        return read_preloads(content.decode("utf-8", "replace"))
    except UnknownSequence:
        # Patched beyond recognition: what its release does is the best that is known.
        return preloads_of_release(torch.torch)


def preloads_of_release(version: str) -> Preloads:
    """The libraries that a release opens by path; of a version that is not known, what the newest does."""
    wanted = order(version)
    rows = preload_table().rows
    known = [each for since, each in rows if wanted is None or (order(since) or ()) <= wanted]
    return known[-1] if known else rows[0][1]


def preload_table() -> PreloadTable:
    """The shipped table (`tools/build_torch_preloads.py`)."""
    with open(data_file(_TABLE), "rb") as file:
        return msgspec.json.decode(zlib.decompress(file.read(), _GZIP), type=PreloadTable)


def mark_of(source: bytes) -> str:
    """What tells one release's source from another's: the torch is the user's own, so nobody forges it, and a better
    digest costs 5 ms of imports."""
    return f"{len(source)}-{zlib.crc32(source):08x}"


def find_preload(
    preload: Preload, site_packages: Iterable[str], cuda: str | None, files: FileSystem = HERE
) -> str | None:
    """The path that a library is opened by; None where none is installed.

    Args:
        site_packages: directories of packages, in the order in which they are searched; `files`: where they are.
        cuda: the version of CUDA that torch was built with (`12.8`), if it was.
    """
    patterns = [pattern for pattern in preload.patterns if cuda is not None or CUDA_MAJOR not in pattern]
    if not patterns:
        return None
    import fnmatch

    for site in site_packages:
        for pattern in patterns:
            folder, _, name = pattern.replace(CUDA_MAJOR, (cuda or "").partition(".")[0]).rpartition("/")
            try:
                # The first in the order of the directory, as glob.glob gives them.
                found = next((n for n in files.names(f"{site}/{folder}") if fnmatch.fnmatchcase(n, name)), None)
            except OSError:
                continue
            if found is not None:
                return f"{site}/{folder}/{found}"
    return None


def imports_cuda_bindings(torch: InstalledTorch) -> bool:
    """Whether `import torch` imports `cuda.bindings`, where that is installed."""
    content = torch.files.read(os.path.join(torch.root, "cuda", "_utils.py"), _MAX_SOURCE)
    return _IMPORTS_CUDA_BINDINGS in (content or b"").decode("utf-8", "replace")


def has_rocm_init(torch: InstalledTorch) -> bool:
    """Whether it is a build for ROCm's wheels, whose `_rocm_init` opens their libraries first (torch/__init__.py)."""
    return torch.files.is_file(os.path.join(torch.root, "_rocm_init.py"))
