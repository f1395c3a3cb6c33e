"""Owners of C names, libraries and namespaces besides torch and Python, from `abiscan/data/vendors.json`, which
`tools/generate.py` generates. The longest prefix of a C name wins: cublasLt before cublas, cuda before cu."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from abiscan.data import read_table
from abiscan.ownership.vendor_row import IndexedVendors, Vendor


@functools.cache
def _table() -> IndexedVendors:
    return read_table("vendors.json", IndexedVendors)


def cuda_distributions() -> frozenset[str]:
    """Requirements for CUDA toolkit libraries that some release on the package index satisfies."""
    return _table().distributions


def library_of_namespace(namespace: str | None) -> str | None:
    """The library of a top-level C++ namespace that is neither torch's nor, by default, the extension's; None if
    unknown."""
    return _table().namespaces.get(namespace or "") or None


def is_header_only(namespace: str | None) -> bool:
    """Whether the library of a top-level C++ namespace has headers alone."""
    return _table().namespaces.get(namespace or "") == ""


def cuda_since(name: str) -> str | None:
    """The CUDA release that added a C name (`9.2`), if it is older than the first with known exports; else None."""
    return _table().cuda_since.get(name)


def vendor_of(name: str) -> Vendor | None:
    """The library whose C names are spelled like this one; None if unknown."""
    known = _table()
    if name[:2] not in known.beginnings:
        return None
    if (place := known.names.get(name)) is not None:
        return known.vendors[place]
    for length in known.lengths:
        found = known.prefixes.get(name[:length])
        if found is not None and (not found[1] or "A" <= name[length : length + 1] <= "Z"):
            return known.vendors[found[0]]
    return None


@functools.lru_cache(maxsize=1024)
def vendor_of_library(file_name: str) -> Vendor | None:
    """The vendor of a library file (`libcublasLt.so.12`, `libgomp-4dbbc2f2.so.1` of a repaired wheel)."""
    stem = library_stem(file_name)
    if stem is None:
        return None
    stem = stem.removesuffix("_static").removesuffix("-builtins")
    known = _table()
    place = known.libraries.get("openblas" if stem.startswith("openblas") else stem)
    if place is not None:
        return known.vendors[place]
    of_cuda = (vendor for vendor in known.vendors if vendor.cuda)
    return next((vendor for vendor in of_cuda if stem.startswith(f"{vendor.library}_")), None)


_CUDA_IN_NAME = r"_(\d{2})_(\d{1,2})$"


def cuda_in_name(name: str) -> str:
    """The CUDA release in a C name, as nvJitLink has them: `12.4` of `__nvJitLinkComplete_12_4`; empty if there is
    none."""
    found = re.search(_CUDA_IN_NAME, name)
    return "" if found is None else f"{found[1]}.{found[2]}"


# The release of CUDA from which on NVIDIA's distributions have no suffix.
_NO_SUFFIX = 13


def cuda_distribution(vendor: Vendor, major: int) -> str | None:
    """The requirement that provides a CUDA toolkit library, by the major version in its soname
    (`nvidia-cuda-runtime-cu12`, `nvidia-cuda-runtime>=13,<14`); None if the soname does not contain the release, or no
    distribution has it."""
    text = f"{vendor.distribution}-cu{major}" if major < 13 else f"{vendor.distribution}>={major},<{major + 1}"
    return text if text in cuda_distributions() else None


def distributions_beside(vendor: Vendor, major: int) -> dict[int, str]:
    """Major CUDA release -> the requirement that provides a library with version numbers of its own
    (`nvidia-cudnn-cu12>=9,<10`), by the major version in its soname."""
    of_release = {cuda: f"{vendor.distribution}-cu{cuda}>={major},<{major + 1}" for cuda in (11, 12, 13)}
    found = {cuda: text for cuda, text in of_release.items() if text in cuda_distributions()}
    newest = f"{vendor.distribution}>={major},<{major + 1}"
    return {**found, _NO_SUFFIX: newest} if newest in cuda_distributions() else found


def other_version_provided(soname: str, provided: Iterable[str]) -> str | None:
    """The other version of a library that a torch build provides (`libcudart.so.13` for `libcudart.so.12`); None if it
    provides the same version, or none."""
    stem = library_stem(soname)
    same = [other for other in provided if stem is not None and library_stem(other) == stem]
    return None if soname in same or not same else max(same)


# `cudart64_12.dll`, `cudnn_ops64_9.dll`, `nvrtc64_120_0.dll`: bits and version.
_DLL_VERSION = r"64(?:_\d+)+$|64$"


def library_stem(file_name: str) -> str | None:
    """Return the base name of a library: `cublasLt` for `/x/libcublasLt.so.12` and `cublasLt64_12.dll`, `gomp` for
    `libgomp-4dbbc2f2.so.1`, `omp` for `libomp.dylib`; None for other files."""
    base = file_name.rpartition("/")[2]
    stem, suffix, _version = base.partition(".so")
    if not suffix:
        stem, suffix, _version = base.partition(".dylib")
        if not suffix and base[-4:].lower() == ".dll":
            return re.sub(_DLL_VERSION, "", base[:-4]).removeprefix("lib")
    if not suffix or not stem.startswith("lib"):
        return None
    name, _, tag = stem.removeprefix("lib").rpartition("-")
    return name if name and len(tag) >= 6 and not tag.strip("0123456789abcdef") else stem.removeprefix("lib")
