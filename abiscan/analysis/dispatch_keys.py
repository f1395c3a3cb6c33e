"""Dispatch keys under which a file registers kernels, read from its code as numbers of `c10::DispatchKey`.

A block `TORCH_LIBRARY_IMPL(ns, CPU, m)` is a static object whose constructor calls `torch::Library::Library(Kind,
std::string, std::optional<c10::DispatchKey>, const char*, uint32_t)` (torch/library.h). The key is the fourth in
integer registers, `this` the first and the string a pointer: two bytes of a number, and one that says if there is any.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from abiscan.model.versions import ReleaseRanges

if TYPE_CHECKING:
    from abiscan.binary import Binary
    from abiscan.releases.layout_table import LayoutTable
    from abiscan.rules.computed.layout_drift import CompiledAgainst, Numbers

_CONSTRUCTOR: Final = "_ZN5torch7LibraryC"
KEY_POSITION: Final = 3
# c10::optional (up to torch 2.1) has the flag before the number, std::optional after it.
_FLAG_FIRST: Final = "8optionalI"
_OF_C10: Final = "N3c108optional"
# Enumerators that separate groups of keys (c10/core/DispatchKey.h). The last key of a group shares the number of its
# `EndOf...`, the first alias that of `StartOfAliasKeys`.
_MARKS: Final = ("StartOf", "EndOf")


def key_takers(names: Iterable[str]) -> tuple[str, ...]:
    """The imports that take a dispatch key as argument."""
    return tuple(name for name in names if name.startswith(_CONSTRUCTOR) and _FLAG_FIRST in name)


def registered_keys(binary: Binary, names: Iterable[str]) -> Numbers:
    """The key numbers in the code, and whether they are complete.

    They are complete if each block has a key: a function that is registered in it has the same or none
    (`Library::_impl` rejects another). In a block without a key (`TORCH_LIBRARY`), `torch::dispatch(key, f)` may use
    any.

    Args:
        names: imports of the file, mangled.
    """
    from abiscan.rules.computed.layout_drift import Numbers

    found: set[int] = set()
    sites = complete = 0
    for name, words in binary.call_constants(key_takers(names), KEY_POSITION).items():
        flag, low, high = (0, 2, 3) if _OF_C10 in name else (2, 0, 1)
        for word in words:
            sites += 1
            first, second = word[low], word[high]
            if word[flag] == 1 and first is not None and second is not None:
                found.add(first | second << 8)
                complete += 1
    return Numbers(tuple(sorted(found)), complete=bool(sites) and sites == complete)


def having_keys(releases: Sequence[str], keys: Callable[[], Numbers], table: LayoutTable) -> CompiledAgainst | None:
    """The releases in which each number in the code is a key; None if no release is excluded.

    A release with unknown numbers is not excluded.

    Args:
        keys: returns `registered_keys`; not called if the releases have the same numbers.
    """
    from abiscan.rules.computed.layout_drift import KEY, CompiledAgainst

    if len({table.number(KEY, release) for release in releases} - {0}) < 2:
        return None
    named = {release: each for release in table.releases if (each := _key_numbers(release, table)) is not None}
    without = {number: {release for release in named if number not in named[release]} for number in keys().known}
    left = tuple(release for release in releases if not any(release in each for each in without.values()))
    if len(left) == len(releases):
        return None
    telling = max(without, key=lambda number: len(without[number].intersection(releases)))
    lacking = ReleaseRanges.of_known(table.releases, without[telling].__contains__)
    return CompiledAgainst(
        left, f"its code registers kernels under {telling}, which is not a dispatch key in torch {lacking.text()}"
    )


@functools.cache
def _key_numbers(release: str, table: LayoutTable) -> frozenset[int] | None:
    """The numbers of `c10::DispatchKey` without separators; None if they are unknown."""
    from abiscan.rules.computed.layout_drift import KEY

    read_from = table.read_from.get(release)
    if read_from and read_from != release:
        return _key_numbers(read_from, table)
    enumeration = table.layout(KEY, release)
    if enumeration is None:
        return None
    return frozenset(each.offset for each in enumeration.fields if not each.name.startswith(_MARKS))
