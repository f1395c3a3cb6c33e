"""Finds the start of an expression from its tokens."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.source.lexer import ARROW, NAME, SCOPE, TokenList, Tokens

# Maximum number of tokens of an expression.
MAX_EXPRESSION = 400
_DOT, _ANGLE_CLOSE = ord("."), ord(">")
_KEYWORDS = frozenset(
    {
        *("return", "else", "case", "throw", "new", "delete", "if", "while", "for", "switch", "sizeof"),
        *("co_return", "co_yield"),
    }
)


def postfix_start(found: Tokens | TokenList, partner: Sequence[int], index: int) -> int | None:
    """The first token of the postfix expression that ends before the `.` or `->` at `index`. Grammar: ISO C++20, 7.6.1
    [expr.post]. None if a parser would be needed.

    Args:
        partner: result of `match_brackets` for `found`.
    """
    kinds = found.kinds
    at = index - 1
    for _step in range(MAX_EXPRESSION):
        if at < 0:
            break
        if kinds[at] in b")]":
            if partner[at] < 0:
                return None
            at = partner[at] - 1
            if at >= 0 and kinds[at] == _ANGLE_CLOSE:
                opened = _angle_start(found, at)
                if opened is None:
                    return None
                at = opened - 1
            if at < 0 or (kinds[at] != NAME and kinds[at] not in b")]"):
                return at + 1  # a parenthesized expression
            if kinds[at] == NAME and found.word(at) in _KEYWORDS:
                return at + 1
            continue
        if kinds[at] != NAME or found.word(at) in _KEYWORDS:
            return None
        # A name: continue before `::`, `.` or `->`.
        at -= 1
        while at > 0 and kinds[at] == SCOPE and kinds[at - 1] == NAME:
            at -= 2
        if at >= 0 and kinds[at] == SCOPE:
            return at if at == 0 or kinds[at - 1] != _ANGLE_CLOSE else None
        if at >= 0 and kinds[at] == NAME and found.word(at) == "template":
            at -= 1
        if at >= 0 and (kinds[at] == ARROW or kinds[at] == _DOT):
            at -= 1
            continue
        return at + 1
    return 0 if at == -1 else None


def _angle_start(found: Tokens | TokenList, index: int) -> int | None:
    level = 0
    kinds = found.kinds
    for at in range(index, max(-1, index - MAX_EXPRESSION), -1):
        kind = kinds[at]
        if kind in b"<>":
            level += 1 if kind == _ANGLE_CLOSE else -1
            if level == 0:
                return at
        elif kind in b";{}=":
            return None
    return None
