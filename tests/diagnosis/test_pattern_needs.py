"""What `tools/pattern_needs.py` demands of the matches of a pattern holds for every match that `re` finds."""

from __future__ import annotations

import random
import re
import string
import tracemalloc
from functools import partial

import pytest

from abiscan.diagnosis.catalogue.text_fact_row import Need, TextFact
from abiscan.diagnosis.text.possible_words import possible_words, word_parts
from abiscan.diagnosis.text.text_blocks import TextBlocks
from tests.tables import sampled
from tools.package_data import text_facts
from tools.pattern_needs import needs_of, with_first_characters

# Groups of words, characters and ends of lines.
PATTERNS: dict[str, list[tuple[object, int, int]]] = {
    r"\b(?:foo|bar)baz": [((("barbaz", "foobaz"),), 7, 0)],
    r"(?i:CONDA|mamba)\d": [((("conda", "mamba"),), 6, 0)],
    r"(?<!no )[Tt]orch(?: \d)?": [((("torch",),), 10, 0)],
    r"a{0,1}": [],
    r"(?:ab[^x]{0,3}cd|ef)\s{1,4}(?=gh)": [((("ab",), ("cd",)), 13, 7), ((("ef",),), 8, 4)],
    r"\d+": [],
    r"ab.{0,9}\Z": [((("ab",),), 12, 1)],
    r"ab[\s\S]{0,}c": [],
}


@pytest.mark.parametrize("pattern", PATTERNS)
def test_needs(pattern: str) -> None:
    assert [(each.words, each.characters, each.lines) for each in needs_of(pattern)] == PATTERNS[pattern]


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
    """By the examples of all rows: the same matches, each with the words of a need."""
    pattern = "|".join(row.patterns)
    quick, plain = re.compile(with_first_characters(pattern), re.ASCII), re.compile(pattern, re.ASCII)
    needs = needs_of(pattern)
    for text in TEXTS:
        found = [match.span() for match in plain.finditer(text)]
        assert [match.span() for match in quick.finditer(text)] == found, text
        matched = [text[slice(*span)].casefold() for span in found]
        assert [each for each in matched if needs and not any(map(partial(_has_words, each), needs))] == [], text


def _has_words(text: str, need: Need) -> bool:
    return all(any(word in text for word in words) for words in need.words)


@pytest.mark.parametrize("end", ["\n", " ", "\u00df\n"])
@pytest.mark.parametrize("row", sampled(text_facts(), [f"{row.fact} {row.value}" for row in text_facts()]))
def test_blocks_of_rows(row: TextFact, end: str) -> None:
    """Searched where its words are, a row has the matches that it has in the whole text: in lines, and in one line that
    is cut; with a character that is folded to two."""
    pattern = "|".join(row.patterns)
    text = end.join(TEXTS)
    compiled, needs = re.compile(pattern, re.ASCII), needs_of(pattern)
    blocks = TextBlocks(text, word_parts(word for need in needs for group in need.words for word in group))
    spans = blocks.spans(set[int]().union(*map(blocks.with_words, needs))) if needs else [(0, len(text))]
    found = [match.span() for span in spans for match in compiled.finditer(text, *span)]
    assert found == [match.span() for match in compiled.finditer(text)]


TEXTS = [text for row in text_facts() for text in (*row.examples, *row.others)]


def test_a_log_is_searched_only_where_words_are() -> None:
    """Of 300 commands, rows about builds of torch search none; of a sentence about it, the line and two more."""
    command = "[1/9] nvcc -I/usr/local/cuda/include -I/x/torch/include -c k.cu -o build/temp/k.o -DTORCH_API -fPIC\n"
    sentence = "I built PyTorch from source, in build/temp of local disks.\n"
    rows = [row for row in text_facts() if row.fact in ("source_build", "torch_origin", "requirement", "refusal")]
    needs = [need for row in rows for need in needs_of("|".join(row.patterns))]
    words = word_parts(word for need in needs for group in need.words for word in group)
    for text, most in ((300 * command, 0), (150 * command + sentence + 150 * command, 3)):
        blocks = TextBlocks(text, words)
        assert len(set[int]().union(*map(blocks.with_words, needs))) == most


def test_the_words_of_a_long_text_take_little_memory() -> None:
    text = "".join(random.Random(1).choices(string.ascii_letters, k=1 << 19))
    tracemalloc.start()
    possible_words(text, word_parts(["undefined symbol"]))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * len(text)
