"""Which C++ headers a recent torch ships, from `data/torch_headers.txt.gz` (`tools/build_header_declarations.py`)."""

from __future__ import annotations

import functools
import zlib

from abiscan.data import data_file

# zlib parameter for a gzip header around the data, with the largest window.
_GZIP = 16 + zlib.MAX_WBITS


@functools.cache
def _headers() -> tuple[str, frozenset[str]]:
    with open(data_file("torch_headers.txt.gz"), "rb") as file:
        version, *names = zlib.decompress(file.read(), _GZIP).decode("ascii").splitlines()
    return version, frozenset(names)


def version_read() -> str:
    """The torch version whose headers the table has."""
    return _headers()[0]


def has_header(path: str) -> bool | None:
    """Whether that torch has a header, by the path of an `#include`; None for those of single operators, which are not
    in the table."""
    return None if path.startswith("ATen/ops/") else path in _headers()[1]
