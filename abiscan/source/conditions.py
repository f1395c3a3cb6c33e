"""Preprocessor conditions, judged for a compilation by HIP: true, false, or not known.

Which macros are defined there: https://rocm.docs.amd.com/projects/HIP/en/latest/how-to/hip_porting_guide.html
(`__HIP_PLATFORM_AMD__`, `__HIPCC__`, no `__CUDA_ARCH__`, no `__NVCC__`); torch adds USE_ROCM
(torch/utils/cpp_extension.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.source.lexer import Token

_DEFINED = frozenset({"USE_ROCM", "__HIP__", "__HIPCC__", "__HIP_PLATFORM_AMD__", "__HIP_PLATFORM_HCC__"})
_UNDEFINED = frozenset({"__CUDA_ARCH__", "__NVCC__", "CUDA_VERSION", "CUDART_VERSION"})
# Parentheses and operators in one another that are followed.
_MAX_DEPTH = 32
# Tokens of a condition that is read; longer ones are not known.
_MAX_TOKENS = 256


def holds(keyword: str, condition: Sequence[Token]) -> bool | None:
    """Whether `#if condition`, `#ifdef`, `#ifndef` or `#elif` holds under HIP; None where that cannot be told."""
    if len(condition) > _MAX_TOKENS:
        return None
    if keyword in ("ifdef", "ifndef"):
        found = _defined(condition[0].text) if condition else None
        return found if keyword == "ifdef" or found is None else not found
    return _value([token.text for token in condition], 0)


def _defined(name: str) -> bool | None:
    if name in _DEFINED:
        return True
    return False if name in _UNDEFINED else None


def _value(words: list[str], depth: int) -> bool | None:
    if depth > _MAX_DEPTH or not words:
        return None
    for mark, decides in (("|", True), ("&", False)):
        parts = _split(words, mark)
        if len(parts) > 1:
            values = [_value(part, depth + 1) for part in parts]
            return decides if decides in values else None if None in values else not decides
    if words[0] == "!":
        inner = _value(words[1:], depth + 1)
        return None if inner is None else not inner
    if words[0] == "defined":
        names = [word for word in words[1:] if word not in ("(", ")")]
        return _defined(names[0]) if len(names) == 1 else None
    if words[0] == "(" and words[-1] == ")":
        return _value(words[1:-1], depth + 1)
    # A macro that nobody defines counts as 0; one that is defined may be 0 too (ISO C++20, 15.2 [cpp.cond]).
    if len(words) == 1:
        return {"0": False, "1": True}.get(words[0], False if words[0] in _UNDEFINED else None)
    return False if words[0] in _UNDEFINED and words[1] in (">", "=") else None


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
