"""The plain form of texts and patterns: without quotation marks, and with one word where people choose among several.
A plain pattern matches the plain text of a message as the pattern matches the message."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from abiscan.diagnosis.text.name_tokens import QUOTES

_MARKS: Final = frozenset("".join((*QUOTES, *QUOTES.values())))
_LOWER: Final = {ord(letter): ord(letter.lower()) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_WITHOUT_MARKS: Final = dict.fromkeys(map(ord, _MARKS))
# Words for one meaning. A name has no space or apostrophe, and stays.
_CANNOT = re.compile(
    r"\b(?:can['\u2019`]?t|can not|could(?: not|n['\u2019`]?t)|won['\u2019`]t|will not"
    r"|unable to|failed to|fails to|fail to)\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(do|does|did|is|was|has|have)n['\u2019`]?t\b", re.IGNORECASE)
_IS = re.compile(r"\b(?:is|was|are|were|been|be) (?=not\b|undefined\b|undeclared\b|missing\b)", re.IGNORECASE)
# Terminals have 80 columns, lines of mail at most 78 characters (RFC 5322, 2.1.1).
_WRAPPED = re.compile(r"(?<=[^\n]{48})(?<!\n[^\n]{96})\n(?=[^\s])")
_BLANKS = re.compile(r"[ \t]{2,1024}")
_QUANTIFIER = re.compile(r"(?:[?*+]|\{\d{0,5}(?:,\d{0,5})?\})[?+]?")
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
_ESCAPED = re.compile(r"\\.|.", re.DOTALL)
# Assertions about nothing but quotation marks.
_EMPTY_ASSERTION = re.compile(r"\(\?<?[=!]\)")


def plain_text(text: str) -> str:
    """The plain form of a text; names keep their case."""
    return _BLANKS.sub(" ", _with_one_word(text).translate(_WITHOUT_MARKS))


def unwrapped(text: str) -> str:
    """The text with lines joined that a terminal or a mail program broke between words."""
    return _WRAPPED.sub(" ", text)


def lower(text: str) -> str:
    """A text of the same length, in lower-case ASCII letters."""
    return text.lower() if text.isascii() else text.translate(_LOWER)


@cache
def plain_word(word: str) -> str:
    """The plain form of a literal word, in lower-case letters."""
    return lower(plain_text(word))


def _with_one_word(text: str) -> str:
    return _IS.sub("", _NOT.sub(r"\1 not", _CANNOT.sub("cannot", text)))


@cache
def plain_pattern(pattern: str) -> str:
    """The pattern without quotation marks; a name that they delimit is a word."""
    pattern = _with_one_word(pattern)
    parts: list[str] = []
    groups: list[bool] = []
    at = 0
    while at < len(pattern):
        char = pattern[at]
        if char == "[":
            whole = _CLASS.match(pattern, at)
            assert whole is not None
            part, at = _plain_class(whole[0], of_name=any(groups)), whole.end()
        elif char == "\\":
            part, at = pattern[at : at + 2], at + 2
            part = "" if part[1:] in _MARKS else part
        else:
            if char == "(":
                groups.append(pattern.startswith("(?P<", at))
            elif char == ")":
                groups.pop()
            part, at = "" if char in _MARKS else char, at + 1
        if not part:
            quantifier = _QUANTIFIER.match(pattern, at)
            at = at if quantifier is None else quantifier.end()
            # The name begins here, not within a word.
            part = r"(?<!\w)" if pattern.startswith("(?P<", at) else ""
        parts.append(part)
    return _EMPTY_ASSERTION.sub("", "".join(parts))


def _plain_class(text: str, *, of_name: bool) -> str:
    """A class of characters without quotation marks; what they delimit is a word if it is captured."""
    inner = _ESCAPED.sub(lambda part: "" if part[0][-1] in _MARKS else part[0], text[1:-1])
    if inner == text[1:-1] or not inner:
        return f"[{inner}]" if inner else ""
    if inner.startswith("^"):
        return rf"[{inner}\s]" if of_name else f"[{inner}]" if len(inner) > 1 else r"[^\n]"
    return f"[{inner}]"
