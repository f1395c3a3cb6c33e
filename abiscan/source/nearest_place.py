"""Finds the nearest visible place of a name: the declaration that counts."""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import TypeVar

from abiscan.source.code import Code

_Seen = TypeVar("_Seen")
_OPEN_BRACE, _CLOSE_BRACE, _CLOSE_BRACKET, _CLOSE, _SEMICOLON = map(ord, "{}]);")
# Number of steps at once, and number of semicolons between cached results.
_MOST_WALKED = 1024
_KEPT_SEMICOLONS = 32
_HEADERS = frozenset({"for", "if", "while", "switch", "catch"})


class _Places:
    """Places of one name that have an answer, and the nearest of them by token."""

    def __init__(self, code: Code, name: str, look: Callable[[Code, int], object | None]) -> None:
        self.indices = array("I")
        for index in code.places_of(name):
            code.spend(15)
            if look(code, index) is not None:
                self.indices.append(index)
        # From a semicolon on; -1 for none.
        self.from_semicolon: dict[int, int] = {}

    def nearest(self, code: Code, at: int) -> int:
        """The last place before a token that is visible in its scopes, -1 for none. Closed blocks and brackets are
        skipped, except parameters, template parameters and conditions of enclosing blocks."""
        below = bisect_left(self.indices, at)
        if not below:
            return -1
        candidate = self.indices[below - 1]
        found, partner, kinds = code.tokens, code.partner, code.tokens.kinds
        header = False
        result = -1
        semicolons = walked = 0
        passed: list[int] = []
        at -= 1
        while True:
            if at <= candidate:
                if at == candidate:
                    result = at
                    break
                below = bisect_right(self.indices, at, 0, below)
                if not below:
                    break
                candidate = self.indices[below - 1]
                continue
            walked += 1
            if walked == _MOST_WALKED:
                code.spend(walked)
                walked = 0
            kind = kinds[at]
            if kind == _SEMICOLON:
                header = False
                known = self.from_semicolon.get(at)
                if known is not None:
                    result = known
                    break
                if semicolons % _KEPT_SEMICOLONS == 0:
                    passed.append(at)
                semicolons += 1
            elif kind == _OPEN_BRACE:
                if partner[at] < 0 or partner[at] > at:
                    header = True
            elif kind == _CLOSE_BRACE and partner[at] >= 0:
                at = partner[at]
                header = False
            elif kind == _CLOSE_BRACKET and partner[at] >= 0:
                at = partner[at]
            elif kind == _CLOSE and partner[at] >= 0:
                other = partner[at]
                controls = other > 0 and found.word(other - 1) in _HEADERS
                if not header and not controls:
                    at = other
            at -= 1
        code.spend(walked)
        self.from_semicolon.update(dict.fromkeys(passed, result))
        return result


def find_nearest(code: Code, at: int, name: str, look: Callable[[Code, int], _Seen | None]) -> tuple[int, _Seen] | None:
    """The nearest visible place of a name for which `look` has an answer, and the answer."""
    code.spend(15)
    places = code.nearest.get((look, name))
    if not isinstance(places, _Places):
        places = code.nearest[look, name] = _Places(code, name, look)
    index = places.nearest(code, at)
    answer = look(code, index) if index >= 0 else None
    return None if answer is None else (index, answer)
