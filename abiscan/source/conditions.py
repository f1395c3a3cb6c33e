"""Evaluates preprocessor conditions for HIP, or with the headers of a torch release: true, false or unknown.

Macros of HIP: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html (`__HIP_PLATFORM_AMD__`,
`__HIPCC__`, no `__CUDA_ARCH__`, no `__NVCC__`). torch adds USE_ROCM (torch/utils/cpp_extension.py)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from msgspec import Struct

from abiscan.source.lexer import Tokens

_DEFINED = frozenset({"USE_ROCM", "__HIP__", "__HIPCC__", "__HIP_PLATFORM_AMD__", "__HIP_PLATFORM_HCC__"})
_UNDEFINED = frozenset({"__CUDA_ARCH__", "__NVCC__", "CUDA_VERSION", "CUDART_VERSION"})
# Maximum nesting of parentheses and operators.
_MAX_DEPTH = 32
# Maximum number of tokens of a condition; longer ones are unknown.
_MAX_TOKENS = 256
# Of an integer literal; no type is wider than 20 decimal digits.
_MAX_DIGITS = 20


class MacroFacts(Struct, frozen=True):
    """Known macros.

    Attributes:
        is_defined: of a name; None if unknown.
        values: of macros that are numbers.
    """

    is_defined: Callable[[str], bool | None]
    values: Mapping[str, int] = {}


def _defined_by_hip(name: str) -> bool | None:
    if name in _DEFINED:
        return True
    return False if name in _UNDEFINED else None


_HIP = MacroFacts(_defined_by_hip)
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    "<": operator.lt,
}


def holds(keyword: str, condition: Tokens, facts: MacroFacts = _HIP) -> bool | None:
    """Whether `#if condition`, `#ifdef`, `#ifndef` or `#elif` is true; None if unknown."""
    if len(condition) > _MAX_TOKENS:
        return None
    if keyword in ("ifdef", "ifndef"):
        found = facts.is_defined(condition.word(0)) if condition else None
        return found if keyword == "ifdef" or found is None else not found
    return _value([*map(condition.word, range(len(condition)))], facts, 0)


def _value(words: list[str], facts: MacroFacts, depth: int) -> bool | None:
    if depth > _MAX_DEPTH or not words:
        return None
    for mark, decides in (("|", True), ("&", False)):
        parts = _split(words, mark) if mark in words else ()
        if len(parts) > 1:
            values = [_value(part, facts, depth + 1) for part in parts]
            return decides if decides in values else None if None in values else not decides
    if words[0] == "!":
        inner = _value(words[1:], facts, depth + 1)
        return None if inner is None else not inner
    if words[0] == "defined":
        names = [word for word in words[1:] if word not in ("(", ")")]
        return facts.is_defined(names[0]) if len(names) == 1 else None
    if words[0] == "(" and words[-1] == ")":
        return _value(words[1:-1], facts, depth + 1)
    # An undefined macro counts as 0, and a defined one may be 0 too (ISO C++20, 15.2 [cpp.cond]).
    if len(words) == 1:
        undefined = facts.is_defined(words[0]) is False
        return {"0": False, "1": True}.get(words[0], False if undefined else None)
    compared = _compared(words, facts)
    if compared is not None:
        return compared
    return False if facts.is_defined(words[0]) is False and words[1] in (">", "=") else None


def _compared(words: list[str], facts: MacroFacts) -> bool | None:
    """`A >= 2`, with numbers or macros of known value."""
    for at, word in enumerate(words):
        if word in "<>=!":
            double = words[at + 1 : at + 2] == ["="]
            sides = words[:at], words[at + 1 + double :]
            values = [_number(side[0], facts) if len(side) == 1 else None for side in sides]
            compare = _COMPARISONS.get(word + "=" * double)
            left, right = values
            return None if compare is None or left is None or right is None else compare(left, right)
    return None


def _number(word: str, facts: MacroFacts) -> int | None:
    if word.isascii() and word.isdigit():
        return int(word) if len(word) <= _MAX_DIGITS else None
    return facts.values.get(word)


def _split(words: list[str], mark: str) -> list[list[str]]:
    """The operands of `||` or `&&` outside of parentheses."""
    parts: list[list[str]] = [[]]
    level = 0
    at = 0
    while at < len(words):
        word = words[at]
        level += (word == "(") - (word == ")")
        if level == 0 and word == mark and words[at + 1 : at + 2] == [mark]:
            parts.append([])
            at += 2
            continue
        parts[-1].append(word)
        at += 1
    return parts
