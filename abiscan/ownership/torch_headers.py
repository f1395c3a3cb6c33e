"""Which C++ headers a recent torch ships, from `data/torch_headers.txt.gz` (`tools/build_header_declarations.py`)."""

from __future__ import annotations

import functools

from abiscan.data import read_compressed


@functools.cache
def _headers() -> tuple[str, frozenset[str]]:
    version, *names = read_compressed("torch_headers.txt.gz").splitlines()
    return version, frozenset(names)


def version_read() -> str:
    """The torch version whose headers the table has."""
    return _headers()[0]


def headers() -> frozenset[str]:
    """The paths of its headers, as an `#include` has them, without those of single operators."""
    return _headers()[1]


def has_header(path: str) -> bool | None:
    """Whether that torch has a header, by the path of an `#include`; None for those of single operators, which are not
    in the table."""
    return None if path.startswith("ATen/ops/") else path in _headers()[1]
