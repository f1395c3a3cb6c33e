"""Which C++ headers a recent torch ships (`data/torch_headers.txt.gz`, by `tools/build_header_declarations.py`), and
which of them declares a macro or a function (`data/torch_name_headers.toml`)."""

from __future__ import annotations

import functools

from abiscan.data import read_compressed, read_table


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


@functools.cache
def names_by_header() -> dict[str, list[str]]:
    """Header -> its names in the table; `NAME*` stands for every name that begins so."""
    return read_table("torch_name_headers.toml", dict[str, list[str]])


def header_of_name(name: str) -> str | None:
    """The header that declares a name without its namespace; None if the table does not have it. A whole name takes
    precedence over a beginning."""
    rows = names_by_header()
    whole = next((header for header, names in rows.items() if name in names), None)
    return whole or next(
        (
            header
            for header, names in rows.items()
            if any(each[-1] == "*" and name.startswith(each[:-1]) for each in names)
        ),
        None,
    )
