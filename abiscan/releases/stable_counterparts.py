"""Replacements for torch's C++ names in its stable ABI, from `data/stable_counterparts.toml`.

The stable ABI: https://docs.pytorch.org/docs/stable/notes/libtorch_stable_abi.html.
`tools/check_stable_counterparts.py` checks the table against the headers of the releases.
"""

from __future__ import annotations

import fnmatch
import functools
import re

from msgspec import Struct

from abiscan.data import read_table
from abiscan.model.migration_plan import CounterpartKind
from abiscan.ownership.torch_declarations import MACROS, declarations
from abiscan.ownership.torch_successors import successor_of
from abiscan.releases.index import open_index

# The class whose members sources call most.
TENSOR = "at::Tensor"
# Known releases have 9,200 functions of operators, overloads included.
_MAX_OPERATORS = 20_000


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


@functools.cache
def counterparts() -> tuple[Counterpart, ...]:
    """The rows, in order."""
    return read_table("stable_counterparts.toml", dict[str, tuple[Counterpart, ...]])["counterpart"]


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
    """Identifier in C++ sources -> its row; without patterns."""
    return {word: row for row in counterparts() for word in row.sources if "*" not in word}


def source_counterpart(name: str) -> Counterpart | None:
    """The row of a name in a C++ source; None for an unknown name. For a name that torch's headers deprecate or
    removed: the row of its successor.

    Args:
        name: a macro, a qualified name, or a member of a tensor (`at::Tensor::sizes`).
    """
    scope, _, last = name.rpartition("::")
    # An operator is a function of at:: and torch::, and may be a member of a tensor.
    words = (name, f"at::{last}") if scope in _OPERATORS else (name,)
    found = next((row for word in words if (row := source_words().get(word)) is not None), None)
    found = found or _source_pattern(name) or _removed(name, scope, last)
    if found is None and scope in _OPERATORS and last in _operators():
        found = counterpart_of(f"at::_ops::{last}::call")
    if found is None and scope != TENSOR:
        found = counterpart_of(name)
        # The sentence of such a row is about files.
        found = None if found is not None and found.kind is CounterpartKind.INLINED else found
    return found


_OPERATORS = ("at", "torch", TENSOR)


@functools.cache
def _operators() -> frozenset[str]:
    """Names of operators of some release, from the functions `at::_ops::NAME_OVERLOAD::call` of its libraries."""
    start = "_ZN2at4_ops"
    found: set[str] = set()
    for name in open_index().prefix(start, limit=_MAX_OPERATORS):
        match = re.match(r"(\d+)", name[len(start) :])
        if match is not None:
            at = len(start) + match.end()
            words = name[at : at + int(match[1])].split("_")
            found.update("_".join(words[:length]) for length in range(1, len(words) + 1))
    return frozenset(found)


@functools.cache
def _source_patterns() -> list[tuple[str, Counterpart]]:
    """Patterns among the words of sources, the longest first."""
    found = [(word, row) for row in counterparts() for word in row.sources if "*" in word]
    return sorted(found, key=lambda item: -len(item[0]))


def _source_pattern(name: str) -> Counterpart | None:
    return next((row for pattern, row in _source_patterns() if fnmatch.fnmatchcase(name, pattern)), None)


def _removed(name: str, scope: str, last: str) -> Counterpart | None:
    """The row of the successor of a name that torch's headers deprecate or no longer declare."""
    known = declarations()
    newest = known.releases[-1]
    successor = successor_of(name, newest)
    found = source_counterpart(successor.use) if successor is not None and successor.use not in ("", name) else None
    if found is not None:
        return found
    for place in (scope,) if scope else (MACROS, ""):
        absence = known.absence(place, last, newest)
        if absence is not None and absence.removed_in is not None:
            advice = f": {successor.advice[0].lower()}{successor.advice[1:]}" if successor is not None else ""
            use = f"removed from torch's headers in {absence.removed_in}{advice}"
            return Counterpart((), CounterpartKind.UNKNOWN, use)
    return None
