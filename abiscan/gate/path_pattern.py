"""Shell patterns of paths. Each character of a path is read once, because a configuration may be hostile: in a regular
expression, each further `*` may raise the time to the next power.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import groupby

_PIECES = re.compile(r"(?:\*\*/)++|\*\*++|\*|\[(?:!?\[[^][]*|[^][]+)\]|.", re.DOTALL)


@lru_cache(maxsize=1 << 12)
def path_matches(pattern: str, display: str) -> bool:
    """Whether a shell pattern matches `path` or `path!member`, completely or from the start of a component.

    `*` does not match `/`, `**` does. `torchvision.libs/*` matches `dist/x.whl!torchvision.libs/libjpeg.so`.
    """
    return _read_pattern(pattern.replace("\\", "/")).matches(display.replace("\\", "/"))


class _Pattern:
    """An automaton whose states are bits: each piece leads from a state to the next one (Baeza-Yates and Gonnet, "A New
    Approach to Text Searching", 1992)."""

    def __init__(self, pattern: str) -> None:
        # The character or class that leads to the next state; None if there is none.
        self._pieces: list[str | None] = []
        # States that every character keeps, and all but `/`; states equivalent to the second next: `**/`.
        self._keeping = self._keeping_in_name = self._optional = 0
        pieces = _PIECES.findall(pattern)
        # Most paths lack the longest literal part, so it is tested first.
        literals = groupby(pieces, key=lambda piece: len(piece) == 1 and piece not in "?*")
        self._literal = max(("".join(run) for is_literal, run in literals if is_literal), key=len, default="")
        for piece in pieces:
            state = 1 << len(self._pieces)
            if piece.startswith("**"):
                if piece.endswith("/"):
                    self._optional |= state
                    self._pieces += (None, "/")
                    state <<= 1
                self._keeping |= state
            elif piece == "*":
                self._keeping_in_name |= state
            else:
                self._pieces.append(piece)
        self._end = 1 << len(self._pieces)
        self._is_anchored = pattern.startswith("/")
        self._leading: dict[str, int] = {}

    def matches(self, text: str) -> bool:
        """Whether it matches to the end, from the beginning or after a `/` or `!`."""
        if self._literal not in text:
            return False
        first = states = self._entered(1)
        for character in text:
            if character not in self._leading:
                self._leading[character] = sum(
                    2 << at for at, piece in enumerate(self._pieces) if piece is not None and _has(piece, character)
                )
            kept = states & self._keeping
            if character != "/":
                kept |= states & self._keeping_in_name
            states = self._entered(states << 1 & self._leading[character]) | kept
            if character in "/!" and not self._is_anchored:
                states |= first
        return bool(states & self._end)

    def _entered(self, states: int) -> int:
        optional = states & self._optional
        return states | optional << 1 | optional << 2


_read_pattern = lru_cache(maxsize=256)(_Pattern)


def _has(piece: str, character: str) -> bool:
    if piece == "?":
        return character != "/"
    if len(piece) == 1:
        return piece == character
    body = piece[1:-1]
    is_negated = body.startswith("!") and len(body) > 1
    ranges = re.findall(r"(.)-(.)|(.)", body[is_negated:], re.DOTALL)
    return any(first <= character <= last if first else one == character for first, last, one in ranges) != is_negated
