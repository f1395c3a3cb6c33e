"""Rows of `catalogue/text_facts.toml` and of the files with such rows: each is shown by its examples, and not by the
other texts; in bounded time. Rows of `catalogue/mentions.toml`, and of programs without Python."""

from __future__ import annotations

import re

import pytest

from abiscan.diagnosis.catalogue.load_packages import load_packages
from abiscan.diagnosis.catalogue.package_row import Program
from abiscan.diagnosis.catalogue.text_fact_row import Mention, TextFact
from abiscan.diagnosis.text.plain_forms import plain_text
from abiscan.diagnosis.text.text_facts import shown, text_facts
from tests.processor_time import at_most
from tools import package_data

ROWS = package_data.text_facts()
MENTIONS = package_data.mentions()
PROGRAMS = package_data.catalogue().program


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.fact} {row.value}")
def test_examples(row: TextFact) -> None:
    assert row.examples
    assert row.others
    assert [text for text in row.examples if row.value not in [value for value, _ in shown(row.fact, text)]] == []
    assert [text for text in row.others if row.value in [value for value, _ in shown(row.fact, text)]] == []


@pytest.mark.parametrize("row", MENTIONS, ids=lambda row: row.sentences[0])
def test_examples_of_mentions(row: Mention) -> None:
    assert row.examples
    assert [text for text in row.examples if not _mentions(row, text)] == []
    assert [text for text in row.others if _mentions(row, text)] == []


def _mentions(row: Mention, text: str) -> bool:
    named = [re.compile(pattern, re.ASCII) for pattern in row.names]
    if not row.words:
        return any(each.fullmatch(text) for each in named)
    plain = plain_text(text)
    found = {pattern for pattern in (*row.words, row.unless) if re.search(pattern, plain, re.IGNORECASE | re.ASCII)}
    is_named = not named or any(each.search(plain) for each in named)
    return is_named and found.issuperset(row.words) and not (row.unless and row.unless in found)


def test_patterns_are_bounded() -> None:
    every = [pattern for row in ROWS for pattern in row.patterns]
    every += [pattern for mention in MENTIONS for pattern in (*mention.names, *mention.words, mention.unless)]
    every += [pattern for program in PROGRAMS for pattern in (program.pattern, program.unless)]
    patterns = {pattern: re.sub(r"\[[^]]*\]", "", pattern) for pattern in every}
    assert [pattern for pattern, outside_classes in patterns.items() if re.search(r"[^\\][*+]", outside_classes)] == []


@pytest.mark.parametrize("row", text_facts(), ids=lambda row: f"{row.fact} {row.value}")
def test_bounded_time(row: TextFact) -> None:
    """A backtracking pattern would take long on text like its matches."""
    (example, *_) = next(each.examples for each in ROWS if (each.fact, each.value) == (row.fact, row.value))
    for text in (example * (40_000 // len(example)), f"{example}{'a' * 40_000}", f"{example} " * 2_000):
        with at_most(0.5, text[:40]):  # the first search compiles the patterns
            list(shown(row.fact, text))


@pytest.mark.parametrize("part", ["_Z", ".b", "-c", "/d", " e", "f", "\\n", "(", "::g"])
def test_a_mention_takes_bounded_time(part: str) -> None:
    """`a_Z_Z_Z...` took minutes in 1 kB. More parts would only take longer: the test would not end."""
    text = f"a{part * 40}:"
    for pattern in {each for mention in MENTIONS for each in (*mention.names, *mention.words, mention.unless) if each}:
        compiled = re.compile(pattern, re.IGNORECASE | re.ASCII)
        with at_most(0.1, pattern):
            compiled.search(text)


def test_a_program_has_a_source() -> None:
    for program in PROGRAMS:
        assert program.source.startswith("https://")
        assert re.fullmatch(r"20\d\d-[01]\d-[0-3]\d", program.date)


@pytest.mark.parametrize("program", load_packages().program, ids=lambda program: program.id)
def test_a_program_takes_bounded_time(program: Program) -> None:
    """A backtracking pattern would take long on text like its matches."""
    for word in program.words:
        for text in (word * (40_000 // len(word)), f"{word}{'a' * 40_000}", f"{word} " * 8_000, f"/{word}" * 8_000):
            with at_most(0.5, text[:40]):  # the first search compiles the pattern
                for pattern in filter(None, (program.pattern, program.unless)):
                    re.search(pattern, text, re.ASCII)
