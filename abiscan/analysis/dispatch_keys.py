"""The dispatch keys under which a file registers kernels, as far as its code tells: numbers of `c10::DispatchKey`.

A block `TORCH_LIBRARY_IMPL(ns, CPU, m)` is a static object whose constructor calls `torch::Library::Library(Kind,
std::string, std::optional<c10::DispatchKey>, const char*, uint32_t)` (torch/library.h). The key is the fourth in
integer registers, `this` the first and the string a pointer: two bytes of a number, and one that says if there is any.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from abiscan.binary import Binary
    from abiscan.rules.computed.layout_drift import Numbers

_CONSTRUCTOR: Final = "_ZN5torch7LibraryC"
KEY_POSITION: Final = 3
# c10::optional, up to torch 2.1, has the flag before the number, std::optional behind it.
_FLAG_FIRST: Final = "8optionalI"
_OF_C10: Final = "N3c108optional"


def key_takers(names: Iterable[str]) -> tuple[str, ...]:
    """Those of the imports that are given a key."""
    return tuple(name for name in names if name.startswith(_CONSTRUCTOR) and _FLAG_FIRST in name)


def registered_keys(binary: Binary, names: Iterable[str]) -> Numbers:
    """The numbers that are read in the code, and whether they are all.

    They are all where each block has one: a function that is registered in it has the same or none (`Library::_impl`
    refuses another). In a block without one (`TORCH_LIBRARY`), `torch::dispatch(key, f)` may name any.

    Args:
        names: mangled names of its imports.
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
