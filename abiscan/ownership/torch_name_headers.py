"""Which header of torch declares a macro or a function, from `data/torch_name_headers.toml`."""

from __future__ import annotations

import functools

from abiscan.data import read_table


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
