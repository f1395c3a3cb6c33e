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
_CLANG: Final = r"\bclang(?![-+ ]{0,3}(?:version|tidy|format|\d))(?:\+\+)?"
_GCC: Final = r"(?:\bgcc\b|\bg\+\+|\bgnu c\+\+)"
_COMPILED: Final = (
    r"(?:(?:built|compiled?|build) (?:\w{1,24} ){0,3}?(?:with|by|using)|CC="
    r"|\u7528|\u7f16\u8bd1|\u4f5c\u4e3a\u7f16\u8bd1\u5668)"
)
_PATTERNS: Final = (
    re.compile(r"\benable_if"),
    re.compile(r"\bclang(?:\+\+)?[- ]?(?:version )?(?:1[89]|2\d)(?!\d)", re.ASCII | re.IGNORECASE),
    # The same source compiled by both: `CC=clang`, "built with clang, works with g++". collect_env prints a version.
    re.compile(rf"{_CLANG}[^\n]{{0,120}}?{_GCC}|{_GCC}[^\n]{{0,120}}?{_CLANG}", re.ASCII | re.IGNORECASE),
    re.compile(rf"(?:{_COMPILED}) ?{_CLANG}|{_CLANG}[^\n]{{0,12}}?(?:{_COMPILED})", re.ASCII | re.IGNORECASE),
    re.compile(f"{_TOOL}{_BETWEEN}{_NOT}", re.IGNORECASE),
    re.compile(f"{_NOT}{_BETWEEN}{_TOOL}", re.IGNORECASE),
)
_WORDS: Final = ("lang", "filt", "cxxflt", "c++flt", "emangl", "enable_if")


def find_rejected_name(text: str) -> bool:
    """Whether a text says so; linear in its length."""
    return any(word in text for word in _WORDS) and any(pattern.search(text) for pattern in _PATTERNS)
