"""Tokens of C++ text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abiscan.source.lexer import tokens
from tests.processor_time import at_most
from tests.tables import table_rows


def words(text: str) -> list[str]:
    return [token.text for token in tokens(text)]


@table_rows
def test_tokens(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.text(alphabet="ab\"'/*\\\n()R<>:-.#1 ", max_size=200))
def test_any_text_ends_and_offsets_fit(text: str) -> None:
    for token in tokens(text):
        assert token.kind == "include" or text.startswith(token.text, token.at)


@pytest.mark.parametrize("unit", ['"\\', "/*", 'R"(', "'", "\\\n", "//\\\n", "1'", "#include <"])
def test_time_is_linear(unit: str) -> None:
    """A backtracking pattern takes tens of seconds on this."""
    with at_most(5):
        tokens(unit * 20_000)
