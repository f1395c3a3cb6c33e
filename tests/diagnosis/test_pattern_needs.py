"""What `tools/pattern_needs.py` demands of the matches of a pattern holds for every match that `re` finds."""

from __future__ import annotations

import re

import pytest

from abiscan.diagnosis.catalogue.package_row import TextFact
from tools.package_data import text_facts
from tools.pattern_needs import needed_words, with_first_characters

PATTERNS = {
    r"\b(?:foo|bar)baz": {"baz"},
    r"(?i:CONDA|mamba)\d": {"conda", "mamba"},
    r"(?<!no )[Tt]orch(?: \d)?": {"orch"},
    r"a{0,1}": set(),
    r"(?:libc10|c10_cuda)x|y{2,3}ab": {"libc10", "c10_cuda", "ab"},
    r"\d+": set(),
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_words(pattern: str) -> None:
    assert set(needed_words(pattern)) == PATTERNS[pattern]


@pytest.mark.parametrize(
    ("pattern", "begins"),
    [
        (r"\b(?:ab|[c-e]x)", r"(?=[acde])(?:\b(?:ab|[c-e]x))"),
        (r"(?<!x)(?:a?b)", r"(?=[ab])(?:(?<!x)(?:a?b))"),
        (r"(?i:\bk)", "(?=[Kk\u212a])(?:(?i:\\bk))"),
        # Unknown, empty, or found by `re` itself.
        *((each, each) for each in (r"\b\w", r"\b(?:ab)?", r"\b[^a]", "abc", "[ab]c")),
    ],
)
def test_first_characters(pattern: str, begins: str) -> None:
    assert with_first_characters(pattern) == begins


@pytest.mark.parametrize("row", text_facts(), ids=lambda row: f"{row.fact} {row.value}")
def test_of_rows(row: TextFact) -> None:
    """By the examples of all rows: the same matches, each with one of the words."""
    pattern, flags = "|".join(row.patterns), re.ASCII if row.ascii else 0
    quick, plain = re.compile(with_first_characters(pattern, flags), flags), re.compile(pattern, flags)
    words = needed_words(pattern, flags)
    for text in TEXTS:
        found = [match.span() for match in plain.finditer(text)]
        assert [match.span() for match in quick.finditer(text)] == found, text
        matched = [text[slice(*span)].casefold() for span in found]
        assert [each for each in matched if words and not any(word in each for word in words)] == [], text


TEXTS = [text for row in text_facts() for text in (*row.examples, *row.others)]
