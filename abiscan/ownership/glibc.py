"""Symbols that the C library exports: every process loads it, so they need no other library."""

from __future__ import annotations

import functools
import zlib

from abiscan.data import data_file

# zlib parameter for a gzip header around the data, with the largest window.
_GZIP = 16 + zlib.MAX_WBITS


@functools.cache
def _names() -> frozenset[str]:
    with open(data_file("glibc_names.txt.gz"), "rb") as file:
        return frozenset(zlib.decompress(file.read(), _GZIP).decode("ascii").splitlines()[1:])


def is_glibc_name(name: str) -> bool:
    """Whether glibc 2.36 exports a name, in any version (`tools/build_glibc_names.py` made the table)."""
    return name in _names()
