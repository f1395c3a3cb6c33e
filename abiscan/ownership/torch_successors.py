"""Replacements for names that torch's headers no longer declare, from `data/torch_successors.toml`."""

from __future__ import annotations

import functools

import msgspec
from msgspec import Struct

from abiscan.data import read_table
from abiscan.model.versions import order


class Successor(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table.

    Attributes:
        names: qualified names, macros, or paths of headers. `name<T>()` is a member template, `name()` a function of
            which the result was not const.
        use: the replacing name, if it is a single name; advice: an imperative without a period.
        write: the replacing expression, with {type} for T and {object} for the object with its `.` or `->`.
        header: the one that declares `use`.
        since: the first release that has the replacement; empty if every release with `names` has it too.
        same: whether `use` can replace `names` everywhere without a change of meaning, so that it can be rewritten.
    """

    names: tuple[str, ...]
    advice: str = ""
    use: str = ""
    write: str = ""
    header: str = ""
    since: str = ""
    same: bool = False


@functools.cache
def successors() -> tuple[Successor, ...]:
    """The rows, each with its advice."""
    rows = read_table("torch_successors.toml", dict[str, tuple[Successor, ...]])["successor"]
    return tuple(msgspec.structs.replace(row, advice=row.advice or _advice(row)) for row in rows)


def _advice(row: Successor) -> str:
    where = f" (<{row.header}>)" if row.header else ""
    return f"Replace it with `{row.use or row.write.format(type='T', object='x.')}`{where}"


@functools.cache
def _by_name() -> dict[str, Successor]:
    return {name: row for row in successors() for name in row.names}


def successor_of(name: str, release: str) -> Successor | None:
    """Find the row of a name; None if there is none, or if its replacement was added after a release."""
    row = _by_name().get(name)
    if row is None or (row.since and (order(row.since) or ()) > (order(release) or ())):
        return None
    return row
