"""Names of macOS as Linux builds have them, where the integer types differ.

`int64_t` is `long long` (`x`) on macOS and `long` (`l`) on Linux, `uint64_t` is `unsigned long long` (`y`) and
`unsigned long` (`m`). <builtin-type> of the Itanium C++ ABI, 5.1.5.2; Apple's and glibc's <stdint.h>.
"""

from __future__ import annotations

import re
from typing import Final

_SOURCE_NAME = re.compile(r"\d{1,4}")
_TYPES: Final = {"x": "l", "y": "m"}
# Operators (5.1.4.3) whose second letter is one of these: operator[] alone.
_INDEX: Final = "ix"


def linux_names(mangled: str) -> tuple[str, ...]:
    """The mangled names that Linux has for it, without its own; empty where no integer type of macOS is in it.

    Args:
        mangled: a name as ELF has it, without the underscore of Mach-O.
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
