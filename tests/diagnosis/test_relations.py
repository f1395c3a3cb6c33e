"""The answer to a message follows from its facts: however a text states one, and whatever else it says. The texts are
combinations of `data/relations.toml`."""

from __future__ import annotations

import re
import tomllib
import zlib
from collections.abc import Iterator
from functools import lru_cache

import pytest

from abiscan.diagnosis.readings.read_text import ReadText, read_text
from abiscan.diagnosis.text.find_log_facts import log_facts
from abiscan.diagnosis.text.log_facts import LogFacts
from abiscan.diagnosis.text.message_text import clean
from abiscan.releases import ReleaseIndex
from tests.diagnosis.reported import DATA, explain_read

_TABLES = tomllib.loads((DATA / "relations.toml").read_text(encoding="utf-8"))
_MESSAGES: list[tuple[str, str]] = [(cause, message) for cause, message in _TABLES["messages"]]
# Each text replaces {release}, {past} and {name} by those of one row.
_VALUES = (
    {"release": "2.4.0", "past": "2.2.1", "name": "torch-scatter"},
    {"release": "1.13.1", "past": "2.0.1", "name": "flash_attn"},
    {"release": "2.9.1", "past": "2.7.0", "name": "vLLM"},
    {"release": "2.6.0", "past": "2.5.1", "name": "xformers"},
)
# A text that is more than a sentence is on lines of its own.
_LINES = re.compile(r"\n|\||\s{2}|\A(?:>>>|[-*$\" ]|FROM )")
# What a text names beside its torch is no fact about it.
_NAMED = ("releases", "asked_releases")


def _filled(text: str, values: dict[str, str]) -> str:
    return re.sub(r"\{(release|past|name)\}", lambda name: values[name[1]], text)


def _combined(text: str, message: str) -> list[str]:
    """The text at each place beside a message."""
    places = [place.format(text=text, message=message) for place in _TABLES["lines"]]
    if _LINES.search(text) is None:
        places += [place.format(text=text.rstrip(".,:"), message=message) for place in _TABLES["sentences"]]
    return places


def _sample(texts: list[str], name: str, most: int) -> list[str]:
    """Some of the texts, the same for the same name."""
    return sorted(texts, key=lambda text: zlib.crc32(f"{name}{text}".encode()))[:most]


def _stated(facts: LogFacts, name: str, values: dict[str, str]) -> str:
    """A fact as a row of the file has it."""
    if name == "release":
        return (facts.torch or "").partition("+")[0]
    if name == "package":
        package = values["name"].lower().replace("_", "-")
        return (facts.project_release if facts.project == package else "") or facts.releases.get(package, "")
    value = getattr(facts, name)
    return ".".join(map(str, value)) if isinstance(value, tuple) else value or "unknown" * (name == "torch")


def _misread(states: dict[str, str], text: str, most: int) -> Iterator[tuple[str, str]]:
    """The texts, of a sample, of which a fact is another than the one that they state."""
    for values in _VALUES:
        combined = [each for message in _FACTLESS for each in _combined(_filled(text, values), message)]
        # A text without a message is there for each of them, one without places for each of the values.
        for each in dict.fromkeys(_sample(combined, values["release"], most)):
            facts = _facts(each)
            for name, value in states.items():
                found = _stated(facts, name, values)
                if found != _filled(value, values):
                    yield each, f"{name} {found}"


@lru_cache(maxsize=256)
def _facts(text: str) -> LogFacts:
    return log_facts(clean(text))


# Messages without a fact about the environment.
_FACTLESS = [message for _, message in _MESSAGES if log_facts(message) == LogFacts()]
_WORDINGS = [(row["states"], text) for row in _TABLES["wording"] for text in row["texts"]]
_SILENT = [(set(row.get("facts", ())), text) for row in _TABLES["silent"] for text in row["texts"]]


@pytest.mark.parametrize("row", _TABLES["wording"], ids=lambda row: str(row["states"]))
def test_a_stated_fact(row: dict[str, dict[str, str]]) -> None:
    assert [found for text in row["texts"] for found in _misread(row["states"], text, 1)] == []


@pytest.mark.slow
@pytest.mark.parametrize(("states", "text"), _WORDINGS, ids=[text for _, text in _WORDINGS])
def test_a_stated_fact_everywhere(states: dict[str, str], text: str) -> None:
    assert [*_misread(states, text, 50)] == []


@pytest.mark.parametrize(("cause", "message"), _MESSAGES)
def test_words_that_state_nothing(cause: str, message: str, index: ReleaseIndex) -> None:
    assert [*_changed(cause, message, 1, index)] == []


@pytest.mark.slow
@pytest.mark.parametrize(("cause", "message"), _MESSAGES)
def test_words_that_state_nothing_everywhere(cause: str, message: str, index: ReleaseIndex) -> None:
    assert [*_changed(cause, message, 1_000, index)] == []


def _changed(cause: str, message: str, most: int, index: ReleaseIndex) -> Iterator[tuple[str, str]]:
    """The texts, of a sample, that have another first answer than their message, though they state no other fact."""
    first, fix = _first_answer(message, index)
    assert first == cause
    of_message = log_facts(clean(message))
    texts = {text: facts for facts, silent in _SILENT for text in (f"{silent}\n{message}", f"{message}\n{silent}")}
    for text in _sample([*texts], message, most):
        read = read_text(text)
        facts = read.facts
        named = (name for name in LogFacts.__struct_fields__ if getattr(facts, name) != getattr(of_message, name))
        others = set(named).difference(_NAMED)
        if not others <= texts[text]:
            yield text, f"{others}"
        elif not others and _first_of(read, index) != (first, fix):
            yield text, "answer"


def _first_answer(text: str, index: ReleaseIndex) -> tuple[str, str]:
    return _first_of(read_text(text), index)


def _first_of(read: ReadText, index: ReleaseIndex) -> tuple[str, str]:
    causes = [subject.causes[0] for subject in explain_read(read, index) if subject.causes]
    return (str(causes[0].cause), causes[0].fix) if causes else ("", "")


@pytest.mark.slow
@pytest.mark.parametrize(("cause", "message"), _MESSAGES)
def test_one_torch_in_other_words(cause: str, message: str, index: ReleaseIndex) -> None:
    """A torch is the same in a sentence and in the report of collect_env."""
    texts = [_filled(text, _VALUES[0]) for states, text in _WORDINGS if states == {"release": "{release}"}]
    alike = {text for text in texts if log_facts(clean(text)) == LogFacts(torch="2.4.0", releases={})}
    wanted = _first_answer(f"PyTorch version: 2.4.0\n{message}", index)
    assert [text for text in sorted(alike) if _first_answer(f"{text}\n{message}", index) != wanted] == []


@pytest.mark.parametrize("report", _TABLES["report"], ids=lambda report: report["sentence"])
def test_a_report(report: dict[str, str], index: ReleaseIndex) -> None:
    assert _answered_otherwise(report, _sample([message for _, message in _MESSAGES], report["text"], 2), index) == []


@pytest.mark.slow
@pytest.mark.parametrize("report", _TABLES["report"], ids=lambda report: report["sentence"])
def test_a_report_beside_every_message(report: dict[str, str], index: ReleaseIndex) -> None:
    assert _answered_otherwise(report, [message for _, message in _MESSAGES], index) == []


def _answered_otherwise(report: dict[str, str], messages: list[str], index: ReleaseIndex) -> list[str]:
    """The texts with a report that have another first answer than with the sentence."""
    found = []
    for message in messages:
        wanted = _first_answer(f"{report['sentence']}\n{message}", index)
        texts = (f"{report['text']}\n{message}", f"{message}\n\n{report['text']}")
        found += [text for text in texts if _first_answer(text, index) != wanted]
    return found


_QUESTIONS = [(row["message"], text) for row in _TABLES["question"] for text in row["texts"]]


@pytest.mark.parametrize(("message", "question"), _QUESTIONS)
def test_a_question_on_another_line(message: str, question: str, index: ReleaseIndex) -> None:
    wanted = _first_answer(f"{message} {question}", index)
    texts = (f"{message}\n{question}", f"{question}\n{message}", f"{message}\n\n{question}", f"{question}\n\n{message}")
    assert [text for text in texts if _first_answer(text, index) != wanted] == []
