"""Symbols that the C library exports: every process loads it, so they need no other library."""

from __future__ import annotations

import functools

from abiscan.data import read_compressed


@functools.cache
def _names() -> frozenset[str]:
    return frozenset(read_compressed("glibc_names.txt.gz").splitlines()[1:])


def is_glibc_name(name: str) -> bool:
    """Whether glibc 2.36 exports a name, in any version (`tools/build_glibc_names.py` made the table)."""
    return name in _names()
