"""Finds what a text shows about the environment of its error, by the rows of `catalogue/text_facts.toml` and of the
files beside it with such rows."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from typing import Final

from abiscan.data import read_table
from abiscan.diagnosis.catalogue.load_messages import needs_of_messages
from abiscan.diagnosis.catalogue.text_fact_row import Need, TextFact
from abiscan.diagnosis.text.possible_words import WordParts, word_parts
from abiscan.diagnosis.text.text_blocks import TextBlocks

# Characters up to which words are searched sooner than their parts are made; up to which a text is searched as a whole;
# and from which on the words of messages are searched, too: most parts of a log have none of them.
_SHORT: Final = 2_000
_SENTENCE: Final = 256
_LONG: Final = 16_384
MOST_PLACES: Final = 20_000
"""Maximum number of places of a pattern in a text; logs are repetitive."""


def shown(fact: str, text: str) -> Iterator[tuple[str, str]]:
    """The value of each row of a fact that a text shows, and the words that show it; linear in its length."""
    for row in _rows(fact):
        found = next(_found(partial(_pattern, row), (row,), text), None)
        if found is not None:
            yield row.value, found[0]


def is_shown(fact: str, text: str) -> bool:
    """Whether a text shows a fact."""
    return _is_in_sentence(fact, text) if len(text) < _SENTENCE else any(True for _ in shown(fact, text))


# Logs are repetitive.
@lru_cache(maxsize=4_096)
def _is_in_sentence(fact: str, text: str) -> bool:
    folded = _casefolded(text)
    return any(_has_words(folded, (row,)) and _pattern(row).search(text) for row in _rows(fact))


def may_show(fact: str, text: str, start: int, end: int) -> bool:
    """Whether words of a fact are in a part of a text; quick for the many parts of a log."""
    return may_match(fact, _needs(fact), text, start, end)


def may_match(key: str, needs: tuple[Need, ...], text: str, start: int, end: int) -> bool:
    """The same for a pattern with needs, of a message or a finder; the key identifies it."""
    return len(text) < _LONG or not needs or _blocks(text).may_match(key, needs, start, end)


def first_shown(fact: str, text: str) -> str:
    """The value of a fact; empty if the text shows none."""
    return next((value for value, _ in shown(fact, text)), "")


def matches(fact: str, text: str) -> Iterator[re.Match[str]]:
    """The first matches of `pattern_of` a fact in a text, at most `MOST_PLACES`."""
    return itertools.islice(_found(partial(pattern_of, fact), _rows(fact), text), MOST_PLACES)


def matches_in_order(fact: str, text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """The same, each with the value of its row: each row is searched on its own, where its words are."""
    rows = _rows(fact)
    spans = [_spans((row,), text)[::-1] for row in rows]
    found = [_next(*each, text, 0) for each in zip(rows, spans, strict=True)]
    for _ in range(MOST_PLACES):
        first = min(((match.start(), at) for at, match in enumerate(found) if match is not None), default=None)
        if first is None:
            return
        match = found[first[1]]
        assert match is not None
        yield rows[first[1]].value, match
        for at, other in enumerate(found):
            if other is not None and other.start() < match.end():
                found[at] = _next(rows[at], spans[at], text, match.end())


def _next(row: TextFact, spans: list[tuple[int, int]], text: str, at: int) -> re.Match[str] | None:
    """The first match of a row behind an offset; spans, the last of them first, are removed when they have none."""
    while spans:
        start, end = spans[-1]
        match = _pattern(row).search(text, max(at, start), end) if at < end else None
        if match is not None:
            return match
        spans.pop()
    return None


def values(fact: str, text: str) -> list[str]:
    """What `captured` gives for each of `matches`."""
    return list(map(captured, matches(fact, text)))


def first_match(fact: str, text: str) -> re.Match[str] | None:
    return next(matches(fact, text), None)


def matches_by_row(fact: str, text: str) -> Iterator[Iterator[re.Match[str]]]:
    """Matches as in `matches` of each row of a fact."""
    for row in _rows(fact):
        yield itertools.islice(_found(partial(_pattern, row), (row,), text), MOST_PLACES)


def matches_and_values(fact: str, text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Matches as in `matches_by_row`, each with the value of its row."""
    for row, found in zip(_rows(fact), matches_by_row(fact, text), strict=True):
        yield from ((row.value, each) for each in found)


def values_by_row(fact: str, text: str) -> Iterator[list[str]]:
    """Values as in `values` of each row of a fact."""
    return (list(map(captured, found)) for found in matches_by_row(fact, text))


@cache
def pattern_of(fact: str) -> re.Pattern[str]:
    """The rows of a fact as one pattern; a value is the name of the group of its row."""
    rows = _rows(fact)
    parts = (f"(?P<{row.value}>{'|'.join(row.patterns)})" if row.value else "|".join(row.patterns) for row in rows)
    return re.compile("|".join(parts), re.ASCII)


@cache
def patterns_of(fact: str) -> tuple[re.Pattern[str], ...]:
    """The pattern of each row of a fact."""
    return tuple(map(_pattern, _rows(fact)))


@cache
def text_facts() -> tuple[TextFact, ...]:
    """Every row, without examples."""
    return read_table("text_facts.json.gz", tuple[TextFact, ...])


def _found(pattern: Callable[[], re.Pattern[str]], rows: tuple[TextFact, ...], text: str) -> Iterator[re.Match[str]]:
    """The matches of the pattern of rows, searched, and compiled, where their words are."""
    for span in _spans(rows, text):
        yield from pattern().finditer(text, *span)


def _spans(rows: tuple[TextFact, ...], text: str) -> list[tuple[int, int]]:
    """The bounds of the parts of a text that have words of rows."""
    if len(text) < _SENTENCE:
        return [(0, len(text))] if _has_words(_casefolded(text), rows) else []
    if not all(row.needs for row in rows):
        return [(0, len(text))]
    blocks = _blocks(text)
    return blocks.spans(set[int]().union(*(blocks.with_words(need) for row in rows for need in row.needs)))


_casefolded = lru_cache(maxsize=16)(str.casefold)


def _has_words(folded: str, rows: tuple[TextFact, ...]) -> bool:
    """Whether a text has the words of one of the rows; loops, as most of a sentence's time is spent here."""
    for row in rows:
        if not row.needs:
            return True
        for need in row.needs:
            for words in need.words:
                for word in words:
                    if word in folded:
                        break
                else:
                    break
            else:
                return True
    return False


# The whole text, its parts around a message and sentences in these.
@lru_cache(maxsize=16)
def _blocks(text: str) -> TextBlocks:
    return TextBlocks(text, None if len(text) < _SHORT else _word_parts(len(text) >= _LONG))


@cache
def _word_parts(with_messages: bool) -> WordParts:
    """All words that rows need."""
    needs = [need for row in text_facts() for need in row.needs]
    if with_messages:
        needs += needs_of_messages()
    return word_parts(dict.fromkeys(word for need in needs for group in need.words for word in group))


@cache
def _needs(fact: str) -> tuple[Need, ...]:
    """The needs of all rows of a fact; empty if a row has none."""
    rows = _rows(fact)
    return tuple(need for row in rows for need in row.needs) if all(row.needs for row in rows) else ()


@cache
def _rows(fact: str) -> tuple[TextFact, ...]:
    return tuple(row for row in text_facts() if row.fact == fact)


@cache
def _pattern(row: TextFact) -> re.Pattern[str]:
    return re.compile("|".join(row.patterns), re.ASCII)


def captured(match: re.Match[str]) -> str:
    """What the last group with a match captures; without groups, the whole match."""
    return match[match.lastindex or 0]


def only_value(found: Iterable[str]) -> str:
    """The only one of several values; empty for none, and for different ones."""
    different = set(found)
    return different.pop() if len(different) == 1 else ""
