"""Replacements for torch's C++ names in its stable ABI, from `data/stable_counterparts.toml`.

The stable ABI: https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html.
`tools/check_stable_counterparts.py` checks the table against the headers of the releases.
"""

from __future__ import annotations

import fnmatch
import functools
import tomllib

import msgspec
from msgspec import Struct

from abiscan.data import data_file
from abiscan.model.migration_plan import CounterpartKind


class Counterpart(Struct, frozen=True, forbid_unknown_fields=True):
    """A row of the table; its head explains the fields.

    Attributes:
        since: the first release whose headers have it; empty if nothing of torch is needed.
    """

    imports: tuple[str, ...]
    kind: CounterpartKind
    use: str
    sources: tuple[str, ...] = ()
    header: str = ""
    evidence: str = ""
    since: str = ""
    shims: tuple[str, ...] = ()
    inlined: bool = False


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    counterpart: tuple[Counterpart, ...]


@functools.cache
def counterparts() -> tuple[Counterpart, ...]:
    """The rows, in order."""
    with open(data_file("stable_counterparts.toml"), "rb") as file:
        return msgspec.convert(tomllib.load(file), _Table).counterpart


@functools.cache
def _by_name() -> tuple[dict[str, Counterpart], list[tuple[str, Counterpart]]]:
    """Complete names; and patterns, the longest first."""
    whole: dict[str, Counterpart] = {}
    patterns: list[tuple[str, Counterpart]] = []
    for row in counterparts():
        for name in row.imports:
            if "*" in name:
                patterns.append((name, row))
            else:
                whole[name] = row
    return whole, sorted(patterns, key=lambda item: -len(item[0]))


def counterpart_of(qualified: str) -> Counterpart | None:
    """The row of a qualified name without template arguments (`at::TensorBase::data_ptr`); None if the table has
    none."""
    whole, patterns = _by_name()
    found = whole.get(qualified)
    if found is None:
        found = next((row for pattern, row in patterns if fnmatch.fnmatchcase(qualified, pattern)), None)
    return found


@functools.cache
def source_words() -> dict[str, Counterpart]:
    """Identifier in C++ sources -> its row."""
    return {word: row for row in counterparts() for word in row.sources}
