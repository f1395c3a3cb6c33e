"""Texts in looser forms than programs print: single ones (`data/looser_forms.toml`), and examples and labelled texts
in the forms of `loosening.py`, with the share of first causes that are kept."""

from __future__ import annotations

import re
import tomllib
from importlib import metadata

import pytest

from abiscan.diagnosis.catalogue.load_messages import finder_of_name, load_catalogue
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.readings.find_messages import find_messages, find_plain_messages
from abiscan.diagnosis.readings.mentioned_names import mentioned_names
from abiscan.diagnosis.text.message_text import clean
from abiscan.diagnosis.text.plain_forms import plain_pattern, plain_text, unwrapped
from abiscan.model.cause import Confidence
from abiscan.releases import ReleaseIndex
from tests.diagnosis.explained import explain
from tests.diagnosis.loosening import OPERATORS, loosened, share
from tests.diagnosis.reported import DATA
from tests.tables import table_rows

_FORMS = tomllib.loads((DATA / "looser_forms.toml").read_text(encoding="utf-8"))
# Texts of an operator in the sweep; all of them take minutes.
_MOST = 40
# Characters of a description that a person would paste.
_PASTED = 1_500


@pytest.mark.parametrize("row", _FORMS["form"], ids=lambda row: row["printed"])
def test_a_looser_form_has_the_cause_of_the_message(row: dict[str, list[str]], nothing: Knowledge) -> None:
    printed, *_ = explain(str(row["printed"]), nothing)
    for text in row["looser"]:
        looser, *_ = explain(text, nothing)
        assert looser.causes[0].cause == printed.causes[0].cause, text


_SYMPTOMS = tomllib.loads((DATA / "stated_symptoms.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("cause", "text"), [(cause, text) for cause, texts in _SYMPTOMS.items() for text in texts])
def test_a_failure_in_own_words_has_a_likely_cause(cause: str, text: str, nothing: Knowledge) -> None:
    assert str(explain(text, nothing)[0].causes[0].cause) == cause


@pytest.mark.parametrize("text", ["FLT_MAX is not defined", "AT_CHECK undeclared", "missing libcudart.so.11.0"])
def test_a_name_without_a_message_is_not_certain(text: str, nothing: Knowledge) -> None:
    """A name and words of failure may be about something else."""
    (subject,) = explain(text, nothing)
    assert all(cause.confidence is not Confidence.HIGH for cause in subject.causes)


@table_rows
def test_a_plain_pattern_matches_a_plain_text(pattern: str, text: str) -> None:
    """Oracle: what the pattern captures of the text with quotation marks."""
    found = re.search(plain_pattern(pattern), text)
    assert found is not None
    assert found["name"] == "foo"


def test_every_pattern_has_a_plain_form() -> None:
    stored = load_catalogue()
    patterns = [each for row in stored.message for each in (row.before, row.after, row.line)]
    for pattern in (*patterns, *(finder_of_name(name).pattern for name in stored.finder)):
        of_plain, of_row = (re.compile(each, re.ASCII) for each in (plain_pattern(pattern), pattern))
        assert of_plain.groupindex.keys() == of_row.groupindex.keys(), pattern


def test_a_plain_text_keeps_names() -> None:
    assert (
        plain_text("Can't find “libFoo.so” in `a/B`; it wasn't built") == "cannot find libFoo.so in a/B; it not built"
    )
    line = "x" * 60
    assert unwrapped(f"{line}\nnot found\n  File") == f"{line} not found\n  File"


@pytest.mark.slow
@pytest.mark.parametrize("operator", OPERATORS)
def test_the_share_of_causes_that_a_form_keeps(operator: str, index: ReleaseIndex) -> None:
    """Oracle: the answers to the texts as programs print them."""
    assert share(list(loosened(index, operator, _MOST))) >= _FORMS["floors"][operator]


@pytest.mark.slow
def test_descriptions_of_packages_are_no_messages() -> None:
    """Oracle: the descriptions of the installed packages, which report no failure. A looser reading finds none where
    the messages of programs are not found."""
    for package in metadata.distributions():
        text = clean((package.metadata.get_payload() or package.metadata["Description"] or "")[:100_000])
        for at in range(0, len(text), _PASTED):
            part = text[at : at + _PASTED]
            assert find_messages(part) or not (find_plain_messages(part) or mentioned_names(part)), part
