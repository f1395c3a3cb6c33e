"""Releases of CUDA libraries that export a C name, and the release that added a driver function.

`data/cuda_exports.txt.gz` was read from NVIDIA's x86_64 wheels, and from cudaTypedefs.h of CUDA 13.0 for the driver
(`tools/build_cuda_exports.py`). For libraries with version numbers of their own, the releases are the CUDA releases
whose wheels were read, which are not all.
"""

from __future__ import annotations

import functools

from msgspec import Struct

from abiscan.data import read_compressed

_DRIVER = "cuda"


class Exporting(Struct, frozen=True):
    """The releases of a library that were read, oldest first, and those that export a name.

    Attributes:
        known: CUDA releases (`12.5`); for NCCL, its own.
        having: those of `known` that export it.
    """

    known: tuple[str, ...]
    having: tuple[str, ...]


@functools.cache
def _lines() -> tuple[str, ...]:
    return tuple(read_compressed("cuda_exports.txt.gz").splitlines())


def exporting(library: str, name: str) -> Exporting | None:
    """The releases that export a name of a library (`cudart`); None if no release of that library was read.

    >>> exporting("cudart", "cudaGetDriverEntryPointByVersion").having[0]
    '12.5'
    """
    known: tuple[str, ...] | None = None
    behind = f" {name}"
    for line in _lines():
        of, colon, releases = line.partition(": ")
        if colon:
            if known is not None:
                break  # the next library begins
            if of == library and of != _DRIVER:
                known = tuple(releases.split())
        elif known is not None and line.endswith(behind) and line.partition(" ")[2] == name:
            bits = int(line.partition(" ")[0], 16)
            return Exporting(known, tuple(release for at, release in enumerate(known) if bits >> at & 1))
    return None if known is None else Exporting(known, ())


def names_alike(name: str) -> list[str]:
    """The exported names that differ from a name only in upper and lower case.

    >>> names_alike("ncclcommregister")
    ['ncclCommRegister']
    """
    wanted = name.lower()
    exported = (line.partition(" ")[2] for line in _lines() if line.lower().endswith(wanted))
    return list(dict.fromkeys(each for each in exported if each.lower() == wanted))


def driver_since(name: str) -> str | None:
    """The CUDA release that added a driver function (`12.0`); None if the driver API does not have it.

    >>> driver_since("cuTensorMapEncodeTiled")
    '12.0'
    """
    # Newer forms of a function have a version suffix, as in the macros of the header.
    plain = name.partition("_v")[0]
    for line in _lines():
        if not line.startswith(f"{_DRIVER}: "):
            return None
        if line.endswith(f" {plain}"):
            return line.split()[1]
    return None
