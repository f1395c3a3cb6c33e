"""Mangled names: what they say, and which of them mean the same thing.

`parse` takes a C++ name apart, `Demangler` gives the text that users know it by and says which demangler wrote it,
`classify` tells C++ from the rest. `canonical.py` has the rules by which two names are names of one entity. Only this
package imports cxxfilt and pycxxfilt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from abiscan.mangling.cxxname import CxxName, SpecialKind, parse
from abiscan.mangling.demangle import Demangler
from abiscan.mangling.name_kind import NameKind, classify

if TYPE_CHECKING:
    from abiscan.mangling.compare import (
        Difference,
        DifferenceKind,
        differences,
        search_prefixes,
        string_abi,
        string_abis,
    )

__all__ = [
    "CxxName",
    "Demangler",
    "Difference",
    "DifferenceKind",
    "NameKind",
    "SpecialKind",
    "classify",
    "differences",
    "parse",
    "search_prefixes",
    "string_abi",
    "string_abis",
]

_OF_COMPARE = frozenset({"Difference", "DifferenceKind", "differences", "search_prefixes", "string_abi", "string_abis"})


def __getattr__(name: str) -> object:
    # Only a missing import is compared with others, so a file that loads doesn't pay for it.
    if name in _OF_COMPARE:
        from abiscan.mangling import compare

        return getattr(compare, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
