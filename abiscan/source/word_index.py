"""The offsets of each word of a file: a hash table in arrays, since a file may have a million words."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import accumulate

# Approximate number of entries per slot.
_PER_SLOT = 4
_MOST_SLOTS = 1 << 16


class WordIndex:
    """Numbers by word.

    Args:
        entries: (word, number) in order; words are not stored.
    """

    def __init__(self, entries: Iterable[tuple[str, int]]) -> None:
        hashes, numbers = array("H"), array("I")
        add_hash, add, most = hashes.append, numbers.append, _MOST_SLOTS - 1
        for word, number in entries:
            add_hash(hash(word) & most)
            add(number)
        slots = _MOST_SLOTS
        while slots > 1 and slots > len(numbers) // _PER_SLOT:
            slots >>= 1
        self._mask = slots - 1
        counts = [0] * (slots + 1)
        for value in hashes:
            counts[(value & self._mask) + 1] += 1
        self._bounds = array("I", accumulate(counts))
        following = list(self._bounds)
        self._numbers = array("I", bytes(numbers.itemsize * len(numbers)))
        for value, number in zip(hashes, numbers, strict=True):
            slot = value & self._mask
            self._numbers[following[slot]] = number
            following[slot] += 1

    def candidates(self, word: str) -> Sequence[int]:
        """The numbers of a word and of others with the same hash, in order: compare the words."""
        slot = hash(word) & self._mask
        return self._numbers[self._bounds[slot] : self._bounds[slot + 1]]
