"""Translates mangled names of macOS to those of Linux, where the integer types differ.

`int64_t` is `long long` (`x`) on macOS and `long` (`l`) on Linux, `uint64_t` is `unsigned long long` (`y`) and
`unsigned long` (`m`). <builtin-type> of the Itanium C++ ABI, 5.1.5.2; Apple's and glibc's <stdint.h>.
"""

from __future__ import annotations

import re
from typing import Final

_SOURCE_NAME = re.compile(r"\d{1,4}")
_TYPES: Final = {"x": "l", "y": "m"}
# operator[]: the only operator (5.1.4.3) with one of these letters in second place.
_INDEX: Final = "ix"


def linux_names(mangled: str) -> tuple[str, ...]:
    """Return the mangled names that it may have on Linux, if they differ; empty if it contains no such integer type.

    Args:
        mangled: without the underscore that Mach-O adds.
    """
    if not mangled.startswith("_Z"):
        return ()
    plain, without_index = [], []
    at = 0
    while at < len(mangled):
        length = _SOURCE_NAME.match(mangled, at)
        if length is not None:
            end = length.end() + int(length[0])
            plain.append(mangled[at:end])
            without_index.append(mangled[at:end])
            at = end
            continue
        is_index = mangled.startswith(_INDEX, at - 1) and at > 2
        plain.append(_TYPES.get(mangled[at], mangled[at]))
        without_index.append(mangled[at] if is_index else plain[-1])
        at += 1
    names = dict.fromkeys(("".join(plain), "".join(without_index)))
    names.pop(mangled, None)
    return tuple(names)
