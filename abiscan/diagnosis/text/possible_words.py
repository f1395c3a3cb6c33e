"""Finds the words of a large set that may occur in a text, in one pass over it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Final

# Bytes of a piece of the text, which bound the memory, and the most of a word.
_PIECE: Final = 1 << 18
_OVERLAP: Final = 512
_PART: Final = 4

WordParts = Mapping[int, tuple[tuple[str, tuple[int, int]], ...]]
"""Words by their first four bytes, as a number, with their middle and last four; under -1 shorter words."""


def word_parts(words: Iterable[str]) -> WordParts:
    """The parts of words."""
    found: dict[int, tuple[tuple[str, tuple[int, int]], ...]] = {}
    for word in words:
        data = word.encode()
        places = (0, len(data) // 2 - 2, len(data) - _PART)
        first, middle, last = (int.from_bytes(data[at : at + _PART], sys.byteorder) for at in places)
        first = first if len(data) >= _PART else -1
        found[first] = (*found.get(first, ()), (word, (middle, last)))
    return found


def possible_words(text: str, parts: WordParts) -> set[str]:
    """The words that may occur in a text: those of which a piece of it has three parts, and those of fewer than four
    bytes. One search for each word takes longer than this, and few words occur."""
    data = text.encode("utf-8", "surrogatepass")
    possible = {word for word, _ in parts.get(-1, ())}
    for start in range(0, len(data), _PIECE):
        piece = data[start : start + _PIECE + _OVERLAP]
        seen: set[int] = set()
        for at in range(_PART):
            seen.update(memoryview(piece[at : at + (len(piece) - at) // _PART * _PART]).cast("I"))
        for first in seen.intersection(parts):
            possible.update(word for word, others in parts[first] if seen.issuperset(others))
    return possible
