"""Mangled names: parsing, demangling, and the rules by which two names are the same entity.

`parse` splits a C++ name into its parts, `Demangler` gives the demangled text and the demangler that produced it,
`classify` distinguishes C++ from other names. `canonical.py` has the rules for names of one entity. Only this package
imports cxxfilt and pycxxfilt.
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
        tagged_string_abi,
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
    "tagged_string_abi",
]


def __getattr__(name: str) -> object:
    # Only missing imports are compared with other names, so a file that loads does not pay for it.
    if name in __all__:
        from abiscan.mangling import compare

        return getattr(compare, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
