"""Each row of the message catalogue: its examples, its patterns on hostile text, and rejection of invalid rows."""

from __future__ import annotations

import ast
import functools
import gc
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from abiscan.diagnosis.catalogue.cause_row import CodeCauses
from abiscan.diagnosis.catalogue.load_messages import answer_of_id, finder_of_name, load_catalogue, messages_by_anchor
from abiscan.diagnosis.catalogue.message_row import Example, Message
from abiscan.diagnosis.facts.computed_facts import FACTS
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.readers.value_readers import VALUE_READERS
from abiscan.diagnosis.readings.answer_text import answer
from abiscan.diagnosis.readings.computed_causes import COMPUTED_CAUSES
from abiscan.diagnosis.readings.find_messages import find_messages
from abiscan.diagnosis.readings.found_subjects import FoundSubject
from abiscan.diagnosis.readings.match_messages import CONVERSIONS, FoundMessage, found_message, match_messages
from abiscan.diagnosis.readings.read_text import read_text
from abiscan.diagnosis.templates.templates import PLACE, parse_condition
from abiscan.diagnosis.text.message_text import Hit, clean
from abiscan.diagnosis.text.possible_words import PIECE
from tests.diagnosis.explained import explain
from tests.processor_time import is_at_most, seconds_of
from tests.tables import sampled, table_rows
from tools.message_data import FOLDER, catalogue, checked_rows, code_causes
from tools.read_catalogue import InvalidMessage, read_catalogue

CATALOGUE = checked_rows()
EXAMPLES = [(message, example) for message in CATALOGUE.message for example in message.examples]
# Characters on either side of an anchor: about a window, in a text that is searched without a look for words first.
_HOSTILE = 8_000
# A log that is longer than what is searched as a whole: a message behind it is in the second of the pieces.
_LINES = "running build_ext\ncopying a.py -> build/lib\n"
_LOG = _LINES * (PIECE // len(_LINES) + 1)


# The examples of a row begin alike.
_read = functools.lru_cache(maxsize=1_024)(read_text)


def _found(message: Message, found: Iterable[FoundMessage | FoundSubject]) -> FoundMessage | FoundSubject | None:
    """The message of the catalogue among those of a text."""
    for each in found:
        if (each.message.id if isinstance(each, FoundMessage) else each.message) == message.id:
            return each
    return None


def test_a_variable_is_set_for_every_command_of_a_build() -> None:
    """`{rebuild}` is several commands: a shell sets `NAME=value COMMAND` for the first one only."""
    prefix = re.compile(r"(?:^|[;:&] )(?:\b[A-Z_]+=(?:'[^']*'|\"[^\"]*\"|\S+) )+\{(?:rebuild|reinstall_package)\}")
    lines = [line.text for answer in CATALOGUE.answer for cause in answer.cause for line in cause.fix]
    assert [line for line in lines if prefix.search(line)] == []


@pytest.mark.parametrize(("message", "example"), EXAMPLES, ids=[f"{m.id}-{m.examples.index(e)}" for m, e in EXAMPLES])
def test_an_example_is_recognised(message: Message, example: Example, nothing: Knowledge) -> None:
    """Text and values of the row come from output or source of the program (`source`)."""
    read = read_text(example.text)
    found = _found(message, read.found)
    assert found is not None
    if isinstance(found, FoundMessage):
        assert found.values.items() >= {**message.set, **example.captures}.items()
    else:
        assert {name: getattr(found, name) for name in example.captures} == example.captures
    subjects = answer(read, nothing)
    wanted = example.causes
    if not wanted and isinstance(found, FoundMessage) and len(found.answer.cause) == 1:
        wanted = (found.answer.cause[0].cause,)
    if wanted:
        given = [tuple(cause.cause for cause in subject.causes) for subject in subjects]
        assert any(causes[: len(wanted)] == wanted for causes in given), given
    if message.answer is None:
        return
    (subject,) = (subject for subject in subjects if subject.message == message.id)
    assert isinstance(found, FoundMessage)
    # `text` quotes the input, or is a value, which may be converted. Python prints module and attribute separately.
    pasted, text = " ".join(example.text.split()), subject.text
    assert text in pasted or text in found.values.values() or all(name in pasted for name in text.split("."))
    assert all(cause.evidence and cause.fix for cause in subject.causes)


@pytest.mark.parametrize(
    ("message", "example"), sampled(EXAMPLES, [f"{m.id}-{m.examples.index(e)}" for m, e in EXAMPLES])
)
def test_an_example_without_its_name_or_number_is_read(message: Message, example: Example) -> None:
    """As in a truncated or damaged log: found by fuzzing, with an empty name or line number."""
    for value in example.captures.values():
        for text in (example.text.replace(value, ""), example.text.partition(value)[0]):
            _read(text)
    for at in range(0, len(example.text), 7):
        _read(example.text[:at])


# About the message alone, or about a whole text.
_IN_LOGS = [m for m in CATALOGUE.message if m.answer is None or not answer_of_id(m.answer).only_alone]


@pytest.mark.parametrize("message", sampled(_IN_LOGS, [m.id for m in _IN_LOGS]))
def test_a_row_has_the_same_values_at_the_end_of_a_log(message: Message) -> None:
    """Of a long text, patterns are searched only where their words are."""
    text = message.examples[0].text
    alone, in_log = (_found(message, find_messages(clean(each))) for each in (text, _LOG + text))
    assert getattr(in_log, "values", in_log is not None) == getattr(alone, "values", alone is not None)


@pytest.mark.parametrize("message", sampled(CATALOGUE.message, [m.id for m in CATALOGUE.message]))
def test_a_row_takes_bounded_time_for_a_place(message: Message) -> None:
    """A backtracking pattern would take long on text like its matches."""
    example, anchor = message.examples[0].text, message.anchors[0]
    words = {word for word in example.split() if word not in anchor}
    (stored,) = (row for row in messages_by_anchor()[anchor] if row.id == message.id)
    for filler in (example, anchor, *sorted(words), *sorted(set(example))):
        padding = filler * (_HOSTILE // len(filler))
        # Another text each time: what is found in a part of a text is kept. One of three: a collection of garbage after
        # thousands of tests takes longer than a match.
        texts = ((f"{padding[number:]}{anchor}{padding}", len(padding) - number) for number in range(3))
        assert any(is_at_most(seconds_of(_match, Hit.of(*each, anchor), stored), 0.1) for each in texts), filler


def _match(hit: Hit, message: Message) -> None:
    for row, quote, values in match_messages(hit, (message,)):
        if row.answer is not None:
            found_message(hit, row, quote, values)


@pytest.mark.slow
def test_one_time_for_twice_the_text() -> None:
    """Every anchor of the catalogue, repeated: twice the text takes twice the time."""
    once = "".join(f"{anchor} {number}\n" for number in range(8) for anchor in messages_by_anchor())

    def seconds(text: str) -> float:
        # A collection of garbage takes the longer the more tests ran before.
        gc.collect()
        gc.disable()
        taken = seconds_of(read_text, text)
        gc.enable()
        return taken

    # Another text each time: what is known of a text is kept. One of two: other processes take time, too.
    assert any(is_at_most(seconds(f"{each}\n{once * 2}") - 2.5 * seconds(f"{each}\n{once}"), 0.1) for each in range(2))


def test_the_table_is_made_of_the_files() -> None:
    assert [message.id for message in load_catalogue().message] == [message.id for message in CATALOGUE.message]
    assert tuple(map(answer_of_id, load_catalogue().answer)) == CATALOGUE.answer
    assert tuple(map(finder_of_name, load_catalogue().finder)) == catalogue().finder


def test_nothing_of_the_closed_tables_is_unused() -> None:
    named = set()
    for row in (*CATALOGUE.answer, *code_causes()):
        for cause in row.cause:
            lines = (*cause.evidence, *cause.fix)
            conditions = (*cause.when, *(each for line in lines for each in line.when))
            named |= {place[1] for line in lines for place in PLACE.finditer(line.text)}
            named |= {parse_condition(condition)[0] for condition in conditions}
    assert set(FACTS) <= named
    assert set(VALUE_READERS) == {message.reader for message in CATALOGUE.message if message.reader}
    assert set(COMPUTED_CAUSES) <= {name for answer in CATALOGUE.answer for name in answer.computed}
    patterns = [p for m in CATALOGUE.message for p in (m.before, m.after, m.line)]
    patterns += [finder.pattern for finder in CATALOGUE.finder]
    assert all(any(f"__{name}>" in pattern for pattern in patterns) for name in CONVERSIONS)


@functools.cache
def _calls_by_row() -> dict[str, list[ast.Call]]:
    found: dict[str, list[ast.Call]] = defaultdict(list)
    texts = (path.read_text(encoding="utf-8") for path in FOLDER.parents[1].rglob("*.py"))
    for node in (node for text in texts if "row_causes(" in text for node in ast.walk(ast.parse(text))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "row_causes":
            name = node.args[0]
            if isinstance(name, ast.Constant):
                found[str(name.value)].append(node)
    return found


@pytest.mark.parametrize("row", code_causes(), ids=lambda row: row.id)
def test_code_gives_the_values_of_its_row(row: CodeCauses) -> None:
    """Each call in the package names a row of the table and every value that the row declares."""
    assert _calls_by_row()[row.id]
    for call in _calls_by_row()[row.id]:
        given = {keyword.arg for keyword in call.keywords} - {"evidence", "score", "form", "commands"}
        assert given == set(row.values)
    texts = [line for cause in row.cause for line in (*cause.evidence, *cause.fix)]
    named = {place[1] for line in texts for place in PLACE.finditer(line.text)}
    named |= {parse_condition(each)[0] for cause in row.cause for each in cause.when}
    named |= {parse_condition(each)[0] for line in texts for each in line.when}
    assert {*row.values, *row.commands} <= named


_ROW = """
[message.a-message]
anchors = ["something failed"]
kind = "runtime-error"
source = "a program"
examples = [{ text = "something failed" }]
[[message.a-message.cause]]
cause = "driver-mismatch"
score = 0.9
evidence = ["It failed."]
fix = "Mend it."
"""


@table_rows
def test_a_wrong_row_is_refused(old: str, new: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "phrases.toml").write_text("", encoding="utf-8")
    (tmp_path / "a.toml").write_text(_ROW.replace(old, new), encoding="utf-8")
    if not problem:
        assert read_catalogue(tmp_path).message[0].id == "a-message"
        return
    with pytest.raises(InvalidMessage, match=problem):
        read_catalogue(tmp_path)


def test_a_captured_value_reaches_no_shell(tmp_path: Path) -> None:
    """Fixes are pasted: a captured value needs a replacement for values that a shell would interpret."""
    row = _ROW.replace("anchors =", "after = '''(?P<file>.{0,9})'''\nanchors =").replace("Mend it.", "rm {file}")
    (tmp_path / "phrases.toml").write_text("", encoding="utf-8")
    (tmp_path / "a.toml").write_text(row, encoding="utf-8")
    with pytest.raises(InvalidMessage, match="a shell would act upon"):
        read_catalogue(tmp_path)
    (tmp_path / "a.toml").write_text(row.replace("{file}", "{file|FILE}"), encoding="utf-8")
    assert read_catalogue(tmp_path).message


def test_the_files_of_the_repository_are_right() -> None:
    assert read_catalogue(FOLDER).message


@pytest.mark.parametrize(
    "message", ["[sgl_kernel] CRITICAL: Could not load any common_ops library!", "operator a::b does not exist"]
)
def test_what_repeats_a_missing_symbol_is_left_out(message: str, nothing: Knowledge) -> None:
    symbol = "/x/common_ops.so: undefined symbol: _ZN3c105ErrorC2Ev"
    assert len(explain(message, nothing)) == 1
    assert [subject.text for subject in explain(f"{message}\n{symbol}", nothing)] == ["_ZN3c105ErrorC2Ev"]


def test_a_message_counts_once_for_all_its_sources(nothing: Knowledge) -> None:
    """GCC prints it for each file that includes the header; there is one answer."""
    text = "".join(f"{file}.cpp:5:10: fatal error: Python.h: No such file or directory\n" for file in "abc")
    (subject,) = explain(text, nothing)
    assert subject.location is not None
    assert (subject.message, subject.location.file, subject.location.line) == ("no-python-header", "a.cpp", 5)
