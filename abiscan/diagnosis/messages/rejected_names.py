"""Detects whether a text says that a demangler cannot read its symbol, or names `enable_if` as a part of it or Clang 18
and later as its compiler: GCC writes no constraint into a name."""

from __future__ import annotations

import re
from typing import Final

_TOOL: Final = r"(?:c\+\+filt|c\+\+flt|cxx-?filt|cxxflt|demangl)"
_NOT: Final = (
    r"(?:\bcan(?:not|'t| not)|\bcould(?:n't| not)|\bdoes(?:n't| not)|\bunable|\bfail|\breject|\brefuse|\bnot\b|\bno\b"
    "|\u4e0d|\u65e0\u6cd5|\u5931\u8d25|\u6ca1)"
)
_BETWEEN: Final = r"[^\n.;\u3002\uff1b]{0,48}?"
_PATTERNS: Final = (
    re.compile(r"\benable_if"),
    re.compile(r"\bclang(?:\+\+)?[- ]?(?:version )?(?:1[89]|2\d)(?!\d)", re.ASCII | re.IGNORECASE),
    re.compile(f"{_TOOL}{_BETWEEN}{_NOT}", re.IGNORECASE),
    re.compile(f"{_NOT}{_BETWEEN}{_TOOL}", re.IGNORECASE),
)
_WORDS: Final = ("lang", "filt", "cxxflt", "c++flt", "emangl", "enable_if")


def find_rejected_name(text: str) -> bool:
    """Whether a text says so; linear in its length."""
    return any(word in text for word in _WORDS) and any(pattern.search(text) for pattern in _PATTERNS)
