"""Finds the lines of a text with the words that matches of a pattern need: the pattern is searched only in these."""

from __future__ import annotations

import functools
import itertools
import re
from bisect import bisect_right
from collections.abc import Iterable
from operator import or_
from typing import TYPE_CHECKING, Final

from abiscan.diagnosis.text.possible_words import PIECE, WordParts, bounds_of_pieces, possible_words

if TYPE_CHECKING:
    from abiscan.diagnosis.catalogue.text_fact_row import Need

# Characters after which a long line is cut.
_CUT: Final = 4_096
# Part of the blocks from which on the whole text is searched.
_MOST: Final = 0.8
# Blocks that show whether a word is in most of them.
_SOME: Final = 128


class TextBlocks:
    """The lines of a text, of which long ones are cut, and where words are in them.

    Args:
        words: parts of the words of all needs; None if each word is to be searched on its own, as in a short text.
    """

    def __init__(self, text: str, words: WordParts | None) -> None:
        self._folded = text.casefold()
        if len(self._folded) != len(text):
            # A few characters are folded to several.
            self._folded = re.sub(r"[^\x00-\x7f]", _folded, text).casefold()
        ends = [0, *itertools.accumulate(len(line) + 1 for line in text.split("\n"))]
        cuts = [range(start, end, _CUT) for start, end in itertools.pairwise(ends)]
        self._is_cut = any(len(cut) > 1 for cut in cuts)
        self._starts = [*itertools.chain.from_iterable(cuts)] if self._is_cut else ends[:-1]
        self._starts.append(len(text))
        self._possible = None if words is None else possible_words(self._folded, words)
        self._blocks: dict[str, list[int]] = {}
        self._pieces_with_needs: dict[str, int] = {}

    def with_words(self, need: Need) -> set[int]:
        """The blocks of matches with a need."""
        found: list[set[int]] = []
        for words in need.words:
            possible = words if self._possible is None else [word for word in words if word in self._possible]
            if not possible:
                return set()
            found.append(set(itertools.chain.from_iterable(map(self._with_word, possible))))
        if need.lines or self._is_cut:
            found = [self._around(blocks, need) for blocks in found]
        return set.intersection(*found)

    def may_match(self, key: str, needs: Iterable[Need], start: int, end: int) -> bool:
        """Whether a match with one of the needs of a `key` may begin or end between two offsets."""
        pieces = self._pieces_with_needs.get(key)
        if pieces is None:
            pieces = self._pieces_with_needs[key] = functools.reduce(or_, map(self._pieces_with_need, needs), 0)
        first = max(0, start) // PIECE
        return bool(pieces >> first & ((2 << (end // PIECE - first)) - 1))

    def _pieces_with_need(self, need: Need) -> int:
        """The pieces from which a match extends to one of each group of words."""
        assert self._possible is not None
        pieces = -1
        for words in need.words:
            near = functools.reduce(or_, (self._possible.get(word, 0) for word in words), 0)
            for _ in range(need.characters // PIECE + 1):
                near |= near << 1 | near >> 1
            pieces &= near
        return pieces

    def _around(self, blocks: set[int], need: Need) -> set[int]:
        """The blocks that a match extends to."""
        around, starts, end = set[int](), self._starts, 0
        for block in sorted(blocks):
            first = bisect_right(starts, starts[block] - need.characters) - 1
            last = bisect_right(starts, starts[block + 1] + need.characters)
            if not self._is_cut:
                first, last = max(first, block - need.lines), min(last, block + need.lines + 1)
            # Each block once: those of neighbours overlap.
            around.update(range(max(first, end), min(last, len(starts) - 1)))
            end = max(end, last)
        return around

    def _with_word(self, word: str) -> list[int]:
        blocks = self._blocks.get(word)
        if blocks is None:
            found, after = [], 0
            whole = ((0, len(self._folded)),)
            for start, end in whole if self._possible is None else bounds_of_pieces(self._possible[word]):
                at = self._folded.find(word, max(start, after), end)
                while at >= 0:
                    block = bisect_right(self._starts, at)
                    found.append(block - 1)
                    if len(found) == _SOME and self._is_everywhere(word):
                        self._blocks[word] = [*range(len(self._starts) - 1)]
                        return self._blocks[word]
                    after = self._starts[block]
                    at = self._folded.find(word, after, end)
            blocks = self._blocks[word] = found
        return blocks

    def _is_everywhere(self, word: str) -> bool:
        """Whether most of some blocks, at equal distances, have a word."""
        starts = self._starts
        some = range(0, len(starts) - 1, max(1, (len(starts) - 1) // _SOME))
        return sum(self._folded.find(word, starts[at], starts[at + 1]) >= 0 for at in some) > _MOST * len(some)

    def spans(self, blocks: set[int]) -> list[tuple[int, int]]:
        """The bounds of blocks in the text, those of adjacent ones together."""
        count = len(self._starts) - 1
        if len(blocks) > _MOST * count:
            return [(0, self._starts[-1])]
        spans: list[tuple[int, int]] = []
        for block in sorted(blocks):
            start, end = self._starts[block], self._starts[block + 1]
            if spans and spans[-1][1] == start:
                start = spans.pop()[0]
            spans.append((start, end))
        return spans


def _folded(character: re.Match[str]) -> str:
    folded = character[0].casefold()
    return folded if len(folded) == 1 else "\0"
