"""Finds what a text shows about the environment of its error, by the rows of `catalogue/text_facts.toml` and of the
files beside it with such rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

import msgspec

from abiscan.data import data_file
from abiscan.diagnosis.catalogue.package_row import TextFact


def shown(fact: str, text: str) -> Iterator[tuple[str, str]]:
    """The value of each row of a fact that a text shows, and the words that show it; linear in its length."""
    for row in _rows(fact):
        if not row.words or any(word in text for word in row.words):
            found = _pattern(row).search(text)
            if found is not None:
                yield row.value, found[0]


def is_shown(fact: str, text: str) -> bool:
    """Whether a text shows a fact."""
    return any(True for _ in shown(fact, text))


def first_shown(fact: str, text: str) -> str:
    """The value of a fact; empty if the text shows none."""
    return next((value for value, _ in shown(fact, text)), "")


@cache
def pattern_of(fact: str) -> re.Pattern[str]:
    """The rows of a fact as one pattern; a value is the name of the group of its row."""
    rows = _rows(fact)
    parts = (f"(?P<{row.value}>{'|'.join(row.patterns)})" if row.value else "|".join(row.patterns) for row in rows)
    return re.compile("|".join(parts), re.ASCII if rows[0].ascii else 0)


@cache
def patterns_of(fact: str) -> tuple[re.Pattern[str], ...]:
    """The pattern of each row of a fact."""
    return tuple(map(_pattern, _rows(fact)))


@cache
def text_facts() -> tuple[TextFact, ...]:
    """Every row, without examples."""
    with open(data_file("text_facts.json"), "rb") as file:
        return msgspec.json.decode(file.read(), type=tuple[TextFact, ...])


@cache
def _rows(fact: str) -> tuple[TextFact, ...]:
    return tuple(row for row in text_facts() if row.fact == fact)


@cache
def _pattern(row: TextFact) -> re.Pattern[str]:
    return re.compile("|".join(row.patterns), re.ASCII if row.ascii else 0)
