"""The libraries and modules that `import torch` loads, in order.

Libraries opened by path are read from its own source (`torch_init`), or, if that cannot be read, from the table of
releases made by `tools/build_torch_preloads.py`.

Extension modules of the standard library, numpy and cuda-bindings were observed (dl_iterate_phdr on CPython 3.11 to
3.13 with torch 2.4 to 2.15); those added by later interpreters (_zstd) are from their sources. They matter only if one
of their libraries, already loaded, satisfies a dependency of a file.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Iterable

from abiscan.data import read_table
from abiscan.environment.installed_torch import InstalledTorch
from abiscan.environment.preload_sequence import CUDA_MAJOR, Preload, Preloads, PreloadTable
from abiscan.filesystem import HERE, FileSystem
from abiscan.model.python_version import PythonVersion
from abiscan.model.versions import order

# `ctypes` itself, which opens libraries.
CTYPES = ("_ctypes", "_struct")
BEFORE_TORCH = (
    *("_opcode", "math", "_typing", "_socket", "_pickle", "zlib", "_bz2", "_lzma", "_zstd", "_bisect", "_random"),
    *("_sha512", "_sha2", "_json", "fcntl", "_posixsubprocess", "select", "_datetime", "array"),
)
# torch/hub.py imports tqdm if it is installed, and tqdm needs the width of characters.
TQDM = ("unicodedata",)
NUMPY = ("_core/_multiarray_umath", "linalg/_umath_linalg")
# numpy before 2 imports its FFT and random modules at once. Of two names, each release has one.
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
# Since CPython 3.13 `random` and `importlib.metadata` import these on use.
_LATER = ("_sha2", "_csv")
# torch/cuda/_utils.py imports `cuda.bindings.runtime` since 2.13, which loads the others; without the package
# cuda.pathfinder only the first of them is loaded.
CUDA_BINDINGS = ("runtime", "driver", "cydriver", "_internal/driver", "_internal/utils")
CUDA_BINDINGS_WITH_PATHFINDER = ("cyruntime", "_internal/runtime", "_internal/runtime_ptds")
_IMPORTS_CUDA_BINDINGS = "\n    from cuda.bindings import"
# Far larger than any: torch 2.15 has 133 kB.
_MAX_SOURCE = 1 << 20
_TABLE = "torch_preloads.json.gz"


def imported_at_once(names: Iterable[str], python: PythonVersion | None) -> list[str]:
    """The standard library modules that are imported immediately, not on use."""
    return [name for name in names if python is None or python < PythonVersion(3, 13) or name not in _LATER]


def global_dependencies(torch: InstalledTorch) -> str:
    """The library that `import torch` opens first and globally; some builds lack it."""
    return os.path.join(torch.library_dir, "libtorch_global_deps.so")


def preloads_of(torch: InstalledTorch) -> Preloads:
    """Find the libraries that this torch opens by path, from its own source, or its release if the source is
    unknown."""
    content = torch.files.read(os.path.join(torch.root, "__init__.py"), _MAX_SOURCE)
    if content is None:
        return preloads_of_release(torch.torch)
    table = preload_table()
    # Analysing a source takes 10 ms; those of releases are in the table.
    known = table.sources.get(mark_of(content))
    if known is not None:
        return dict(table.rows)[known]
    from abiscan.environment.torch_init import UnknownSequence, read_preloads

    try:
        return read_preloads(content.decode("utf-8", "replace"))
    except UnknownSequence:
        # The source is patched: the sequence of its release is the best known.
        return preloads_of_release(torch.torch)


# Opens the libraries in the source of torch.
_CALL = "_load_global_deps()"


def imported_before_libraries(torch: InstalledTorch) -> tuple[str, ...]:
    """The modules outside of the standard library that this torch imports before it opens a library, from its own
    source."""
    content = torch.files.read(os.path.join(torch.root, "__init__.py"), _MAX_SOURCE) or b""
    source = content.decode("utf-8", "replace")
    # A pattern for the line of the call would look at each character of 110 KB.
    at = source.find(_CALL)
    while at >= 0 and source[source.rfind("\n", 0, at) + 1 : at].strip():
        at = source.find(_CALL, at + 1)
    # Statements in the first column are executed on every system.
    names = re.findall(r"^(?:from|import) ([A-Za-z_]\w*)", source[: max(at, 0)], re.MULTILINE)
    return tuple(name for name in dict.fromkeys(names) if name not in {*sys.stdlib_module_names, "torch"})


def preloads_of_release(version: str) -> Preloads:
    """The libraries that a release opens by path; for an unknown version, those of the newest."""
    wanted = order(version)
    rows = preload_table().rows
    known = [each for since, each in rows if wanted is None or (order(since) or ()) <= wanted]
    return known[-1] if known else rows[0][1]


def preload_table() -> PreloadTable:
    """The shipped table (`tools/build_torch_preloads.py`)."""
    return read_table(_TABLE, PreloadTable)


def mark_of(source: bytes) -> str:
    """A key for the source of a release. The torch is the user's own, so no forgery is expected, and importing a better
    digest takes 5 ms."""
    return f"{len(source)}-{zlib.crc32(source):08x}"


def find_preload(
    preload: Preload, site_packages: Iterable[str], cuda: str | None, files: FileSystem = HERE
) -> str | None:
    """Find the path of a library to open; None if it is not installed.

    Args:
        site_packages: directories of packages, in search order; `files`: their file system.
        cuda: the CUDA version with which torch was built (`12.8`), if any.
    """
    patterns = [pattern for pattern in preload.patterns if cuda is not None or CUDA_MAJOR not in pattern]
    if not patterns:
        return None
    import fnmatch

    for site in site_packages:
        for pattern in patterns:
            folder, _, name = pattern.replace(CUDA_MAJOR, (cuda or "").partition(".")[0]).rpartition("/")
            try:
                # The first in directory order, as glob.glob returns them.
                found = next((n for n in files.names(f"{site}/{folder}") if fnmatch.fnmatchcase(n, name)), None)
            except OSError:
                continue
            if found is not None:
                return f"{site}/{folder}/{found}"
    return None


def imports_cuda_bindings(torch: InstalledTorch) -> bool:
    """Whether `import torch` imports `cuda.bindings` if it is installed."""
    content = torch.files.read(os.path.join(torch.root, "cuda", "_utils.py"), _MAX_SOURCE)
    return _IMPORTS_CUDA_BINDINGS in (content or b"").decode("utf-8", "replace")


def has_rocm_init(torch: InstalledTorch) -> bool:
    """Whether it is a build for ROCm wheels, whose `_rocm_init` opens their libraries first (torch/__init__.py)."""
    return torch.files.is_file(os.path.join(torch.root, "_rocm_init.py"))
