"""Finds the words of a large set that may occur in the pieces of a text, in one pass over it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

# Characters of a piece of the text, and the most of a word.
PIECE: Final = 1 << 17
_READ: Final = 1 << 15
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


def possible_words(text: str, parts: WordParts) -> dict[str, int]:
    """The words that may occur in a text, each with a bit for every piece that it may begin in: those of which the
    piece has three parts, and those of fewer than four bytes. One search of the text for each word takes longer than
    this: few words occur, and most of them in few pieces."""
    possible: dict[str, int] = {}
    starts = range(0, len(text), _READ)
    for at, start in enumerate(starts):
        # The parts of all pieces at once take a hundred bytes for each byte of the text.
        seen = _parts_of(text[start : start + _READ + _OVERLAP])
        bit, known, is_seen = 1 << start // PIECE, possible.get, seen.issuperset
        for first in seen.intersection(parts):
            for word, others in parts[first]:
                if is_seen(others):
                    possible[word] = known(word, 0) | bit
    everywhere = (1 << len(starts)) - 1
    return possible | {word: everywhere for word, _ in parts.get(-1, ())}


def _parts_of(text: str) -> set[int]:
    data = text.encode("utf-8", "surrogatepass")
    found: set[int] = set()
    for offset in range(_PART):
        found.update(memoryview(data[offset : offset + (len(data) - offset) // _PART * _PART]).cast("I"))
    return found


def bounds_of_pieces(pieces: int) -> Iterator[tuple[int, int]]:
    """The bounds of pieces in the text, with the longest word that begins in them; those of adjacent ones together."""
    at = 0
    while pieces:
        skipped = (pieces & -pieces).bit_length() - 1
        pieces >>= skipped
        count = (~pieces & (pieces + 1)).bit_length() - 1
        yield (at + skipped) * PIECE, (at + skipped + count) * PIECE + _OVERLAP
        pieces >>= count
        at += skipped + count
