"""Finds the words of a large set that may occur in the pieces of a text, in one pass over it."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterable, Iterator
from operator import itemgetter
from typing import Final

from msgspec import Struct

# Characters of a piece of the text, of the parts of it that are read at once, and the most of a word.
PIECE: Final = 1 << 15
_READ: Final = 1 << 14
_OVERLAP: Final = 512
_PART: Final = 4
_SAME, _OTHERS = itemgetter(0), itemgetter(1)


class WordParts(Struct, frozen=True):
    """Words by parts of them, which are four bytes as a number.

    Attributes:
        by_first: words by their first part, and the middle and the last part of each.
        short: words of fewer than four bytes.
        parts: all parts.
    """

    by_first: dict[int, tuple[list[str], list[tuple[int, int]]]]
    short: tuple[str, ...]
    parts: frozenset[int]


def word_parts(words: Iterable[str]) -> WordParts:
    """The parts of words."""
    by_first: dict[int, tuple[list[str], list[tuple[int, int]]]] = {}
    short: list[str] = []
    parts: set[int] = set()
    for word in words:
        data = word.encode()
        if len(data) < _PART:
            short.append(word)
            continue
        places = (0, len(data) // 2 - 2, len(data) - _PART)
        first, middle, last = (int.from_bytes(data[at : at + _PART], sys.byteorder) for at in places)
        same, others = by_first.setdefault(first, ([], []))
        same.append(word)
        others.append((middle, last))
        parts.update((first, middle, last))
    return WordParts(by_first, tuple(short), frozenset(parts))


def possible_words(text: str, words: WordParts) -> dict[str, int]:
    """The words that may occur in a text, each with a bit for every piece that it may begin in: those of which the
    piece has three parts, and those of fewer than four bytes. One search of the text for each word takes longer than
    this: few words occur, and most of them in few pieces."""
    possible: dict[str, int] = {}
    starts = range(0, len(text), PIECE)
    for piece, start in enumerate(starts):
        seen: set[int] = set()
        # All parts of the text at once take a hundred bytes for each byte of it.
        for at in range(start, min(start + PIECE, len(text)), _READ):
            seen |= words.parts.intersection(_parts_of(text[at : at + _READ + _OVERLAP]))
        begun = [words.by_first[first] for first in seen.intersection(words.by_first)]
        others = itertools.chain.from_iterable(map(_OTHERS, begun))
        # Not a loop: a text has thousands of beginnings of words.
        for word in itertools.compress(itertools.chain.from_iterable(map(_SAME, begun)), map(seen.issuperset, others)):
            possible[word] = possible.get(word, 0) | 1 << piece
    return possible | dict.fromkeys(words.short, (1 << len(starts)) - 1)


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
