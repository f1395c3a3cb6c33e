"""Respells the std::string in a mangled name for the other libstdc++ ABI or libc++.

The class is one abbreviation in the old ABI (`Ss`), and a nested name in the two others, whose parts count as
substitutions (Itanium C++ ABI, 5.1.10): each later `S<seq-id>_` then refers to another part. The number of parts before
the first string is not computed but tried, and the caller decides whether a candidate is the right name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, Literal

# Spelling of the first mention, and its number of substitutions, the last of which is the class itself. In libc++'s,
# `{}` is a reference to the k-th part, its namespace.
_SPELT: Final = {
    "old": ("Ss", 0),
    "new": ("NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE", 6),
    "libc++": ("NSt3__112basic_stringIcN{0}11char_traitsIcEEN{0}9allocatorIcEEEE", 7),
}
_TOKEN = re.compile(r"L[a-z]n?\d+E|\d+|S[0-9A-Z]*_|S[a-z]|.", re.DOTALL)
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SHARED: Final = ("11char_traits", "SaIcE", "7__cxx11")
# Maximum number of parts that are tried, and of characters in a name; names from compilers have fewer of both.
_PARTS, _LONGEST = 64, 2_048

Abi = Literal["old", "new", "libc++"]


def respelled(mangled: str, wanted: Abi, is_match: Callable[[str], bool]) -> str | None:
    """The name with its strings spelled as `wanted`, from one of libstdc++'s two spellings; None if none matches.

    Args:
        is_match: whether a candidate is the right name.
    """
    given: Abi = "new" if _SPELT["new"][0] in mangled else "old"
    # Shared parts elsewhere in the name: the first occurrence is the full one, which need not be that of the string.
    others = mangled.replace(_SPELT["new"][0], "", 1)
    if len(mangled) > _LONGEST or any(part in others for part in _SHARED):
        return None
    tried: set[str] = set()
    for parts in range(_PARTS):
        name = _with(mangled, given, wanted, parts)
        if name is not None and name not in tried:
            tried.add(name)
            if is_match(name):
                return name
    return None


def _with(mangled: str, given: Abi, wanted: Abi, parts: int) -> str | None:
    """The name if `parts` substitutions precede its first string; None if that is impossible."""
    given_text, given_parts = _SPELT[given]
    text, made = _SPELT[wanted]
    text = text.format(_reference(parts))
    again = _reference(parts + made - 1) if made else "Ss"
    head, found, tail = _split(mangled, given_text)
    if not found:
        return None
    spelt = [head, text]
    for token in _tokens(tail):
        number = _number(token)
        if token == "Ss" and given == "old":
            spelt.append(again)
        elif number is None or number < parts:
            spelt.append(token)
        elif number == parts + given_parts - 1 and given_parts:
            spelt.append(again)
        elif number < parts + given_parts:
            return None  # a part of the string's own spelling, which the other does not have
        else:
            spelt.append(_reference(number - given_parts + made))
    return "".join(spelt)


def _split(mangled: str, text: str) -> tuple[str, bool, str]:
    """The text before and after the first mention."""
    at = 0
    for token in _tokens(mangled):
        if mangled.startswith(text, at) and token == text[: len(token)]:
            return mangled[:at], True, mangled[at + len(text) :]
        at += len(token)
    return mangled, False, ""


def _tokens(mangled: str) -> Iterator[str]:
    """The tokens of a name: an identifier with its length, a literal, an abbreviation or substitution, a letter."""
    at = 0
    while at < len(mangled):
        found = _TOKEN.match(mangled, at)
        assert found is not None
        end = found.end()
        if found[0].isdecimal():
            end = min(len(mangled), end + int(found[0][:6]))
        yield mangled[at:end]
        at = end


def _number(token: str) -> int | None:
    """Index of the part that a reference refers to, from 0; None for other tokens."""
    if token[:1] != "S" or token[-1:] != "_":
        return None
    return 0 if token == "S_" else int(token[1:-1], 36) + 1


def _reference(number: int) -> str:
    digits = ""
    rest = number - 1
    while number and (rest or not digits):
        rest, digit = divmod(rest, 36)
        digits = _DIGITS[digit] + digits
    return f"S{digits}_"
