"""Where an expression begins, by its tokens."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.source.lexer import Token

# Tokens that an expression may have.
MAX_EXPRESSION = 400
_KEYWORDS = frozenset(
    {
        "return",
        "else",
        "case",
        "throw",
        "new",
        "delete",
        "if",
        "while",
        "for",
        "switch",
        "sizeof",
        "co_return",
        "co_yield",
    }
)


def postfix_start(found: Sequence[Token], partner: Sequence[int], index: int) -> int | None:
    """The first token of the postfix expression that ends before the `.` or `->` at `index`.

    Grammar: ISO C++20, 7.6.1 [expr.post]. None where the beginning cannot be told without a parser's knowledge.

    Args:
        partner: of `found`, as `match_brackets` gives it.
    """
    at = index - 1
    for _step in range(MAX_EXPRESSION):
        if at < 0:
            break
        text = found[at].text
        if text in (")", "]"):
            if partner[at] < 0:
                return None
            at = partner[at] - 1
            if at >= 0 and found[at].text == ">":
                opened = _angle_start(found, at)
                if opened is None:
                    return None
                at = opened - 1
            if at < 0 or not (found[at].kind == "name" or found[at].text in (")", "]")):
                return at + 1  # a parenthesized expression
            if found[at].text in _KEYWORDS:
                return at + 1
            continue
        if found[at].kind != "name" or text in _KEYWORDS:
            return None
        # A name: what leads to it goes on before `::`, `.` or `->`.
        at -= 1
        while at > 0 and found[at].text == "::" and found[at - 1].kind == "name":
            at -= 2
        if at >= 0 and found[at].text == "::":
            return at if at == 0 or found[at - 1].text != ">" else None
        if at >= 0 and found[at].text == "template":
            at -= 1
        if at >= 0 and found[at].text in (".", "->"):
            at -= 1
            continue
        return at + 1
    return 0 if at == -1 else None


def _angle_start(found: Sequence[Token], index: int) -> int | None:
    level = 0
    for at in range(index, max(-1, index - MAX_EXPRESSION), -1):
        text = found[at].text
        level += (text == ">") - (text == "<")
        if level == 0:
            return at
        if text in (";", "{", "}", "&&", "="):
            return None
    return None
