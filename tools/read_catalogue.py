"""Reads and checks the TOML files of the message catalogue: keys and types by `message_row.py` and
`cause_row.py`, the rest here."""

from __future__ import annotations

import functools
import re
import tomllib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from re import _constants as opcodes  # type: ignore[attr-defined]
from re import _parser as pattern_parser  # type: ignore[attr-defined]
from typing import Any, TypeVar

import msgspec

from abiscan.diagnosis.catalogue.cause_row import AnswerCause, CodeCauses, Line
from abiscan.diagnosis.catalogue.message_row import Answer, Catalogue, Finder, Message
from abiscan.diagnosis.facts.computed_facts import FACTS
from abiscan.diagnosis.readers import compiler_readers, function_readers, python_readers, wheel_readers
from abiscan.diagnosis.readers.value_readers import VALUE_READERS
from abiscan.diagnosis.readings.computed_causes import COMPUTED_CAUSES
from abiscan.diagnosis.readings.found_subjects import SUBJECTS
from abiscan.diagnosis.readings.match_messages import CONVERSIONS
from abiscan.diagnosis.templates.name_facts import NAME_FACTS
from abiscan.diagnosis.templates.templates import PLACE, parse_condition
from abiscan.errors import AbiscanError

_T = TypeVar("_T")
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
# Keys of an answer's only cause; keys of an answer that a message may have itself, instead of an answer.
_CAUSE_KEYS = ("cause", "form", "score", "when")
_ANSWER_KEYS = ("kind", "text", "owner", "repeats_symbol", "only_alone", "computed", "evidence", "fix", *_CAUSE_KEYS)
# Member with the name of a row, by kind.
_NAMES = {"finder": "name", "answer": "id", "message": "id"}
_NO_VALUES = frozenset(("position", "message", "location"))
# Values of all readers, for the check of templates.
_READERS = (compiler_readers, function_readers, python_readers, wheel_readers)
READER_VALUES = ("file", "name", *(value for module in _READERS for value in module.VALUES))


class InvalidMessage(AbiscanError):  # noqa: N818 - see abiscan.errors.UnreadableFile
    """A row of the catalogue is invalid. The message names the file and the row."""


def read_catalogue(folder: Path) -> Catalogue:
    """The rows of all files in a folder, in the order of file names. The table `phrase` of a file, and `phrases.toml`
    for all files, define texts for places in lines (`{phrase}`).

    Raises:
        InvalidMessage: the first problem.
    """
    shared = tomllib.loads((folder / "phrases.toml").read_text(encoding="utf-8"))
    finders: list[Finder] = []
    answers: list[Answer] = []
    messages: list[Message] = []
    for path in sorted(folder.glob("*.toml")):
        if path.name == "phrases.toml":
            continue
        try:
            table = tomllib.loads(path.read_text(encoding="utf-8"))
            phrases = {**shared, **table.pop("phrase", {})}
            family = _converted(_normalised(table, phrases), Catalogue)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
            raise InvalidMessage(f"{path.name}: {error}") from error
        finders += family.finder
        answers += family.answer
        messages += family.message
    catalogue = Catalogue(finder=tuple(finders), answer=tuple(answers), message=tuple(messages))
    for problem in _problems(catalogue):
        raise InvalidMessage(problem)
    return catalogue


def read_code_causes(path: Path) -> tuple[CodeCauses, ...]:
    """The rows of causes that code finds.

    Raises:
        InvalidMessage: the first problem.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        phrases = table.pop("phrase", {})
        named = _normalised({"answer": table.pop("causes"), **table}, phrases)
        rows = _converted(named["answer"], tuple[CodeCauses, ...])
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, msgspec.ValidationError) as error:
        raise InvalidMessage(f"{path.name}: {error}") from error
    for row in rows:
        given = {*row.values, *row.commands}
        problems = [f"{name!r} is a value and a fact" for name in given if name in NAME_FACTS]
        for problem in (*problems, *_cause_problems(row.cause, {*given, *NAME_FACTS}, {*row.values})):
            raise InvalidMessage(f"{path.name}, {row.id}: {problem}")
    return rows


def _converted(rows: Any, kind: type[_T]) -> _T:
    """Rows as values.

    Raises:
        msgspec.ValidationError: one is invalid; the message has its name instead of its place.
    """
    try:
        return msgspec.convert(rows, kind)
    except msgspec.ValidationError as error:
        found = re.search(r"\$(?:\.(\w+))?\[(\d+)\]", str(error))
        if found is None:
            raise
        row = (rows[found[1]] if found[1] else rows)[int(found[2])]
        name = f"{found[1] or 'causes'}.{row.get('id') or row.get('name')}"
        raise msgspec.ValidationError(str(error).replace(found[0], name)) from error


# --- short forms ----------------------------------------------------------------------------------------------------


def _normalised(table: dict[str, Any], phrases: dict[str, Any]) -> dict[str, Any]:
    """The table in the form of `message_row.py`: rows with their names, the answer of each message under `answer`,
    every line as a table, with defaults and phrases."""
    answers: dict[str, Any] = table.setdefault("answer", {})
    default: dict[str, Any] = table.pop("default", {})
    for name, message in table.get("message", {}).items():
        shared = bool({"answer", "subject"} & (message.keys() | default))
        if shared and any(key in message for key in _ANSWER_KEYS):
            raise msgspec.ValidationError(f"message {name}: an answer of its own and another one")
        for key, value in default.items():
            if not (shared and key in _ANSWER_KEYS):
                message.setdefault(key, value)
        if shared:
            continue
        if name in answers:
            raise msgspec.ValidationError(f"answer {name}: there are two of this name")
        answers[name] = {key: message.pop(key) for key in _ANSWER_KEYS if key in message}
        message["answer"] = name
    for answer in answers.values():
        if isinstance(answer.get("cause"), str):
            answer["cause"] = [{key: answer.pop(key) for key in _CAUSE_KEYS if key in answer}]
    for answer in answers.values():
        like = answers.get(answer.pop("like", None), {})
        answer["cause"] = [dict(each) for each in (*answer.get("cause", ()), *like.get("cause", ()))]
        answer.setdefault("fix", like.get("fix", ()))
        if "find" in like:
            answer.setdefault("find", like["find"])
    for answer in answers.values():
        before, fix = answer.pop("evidence", ()), answer.pop("fix", ())
        for cause in answer.get("cause", ()):
            cause["evidence"] = [
                each for lines in (before, cause.get("evidence", ())) for each in _lines(lines, phrases)
            ]
            cause["fix"] = list(_lines(cause.get("fix", fix), phrases))
    return {kind: [{_NAMES[kind]: name, **row} for name, row in rows.items()] for kind, rows in table.items()}


def _lines(value: Any, phrases: dict[str, Any], when: tuple[str, ...] = ()) -> Iterator[dict[str, Any]]:
    """Lines as tables; `when` has the conditions of the enclosing line."""
    for each in [value] if isinstance(value, str) else value:
        line = {"text": each} if isinstance(each, str) else dict(each)
        own = line.get("when", ())
        conditions = (*when, *((own,) if isinstance(own, str) else own))
        text = line.get("text", "")
        phrase = PLACE.fullmatch(text)
        if phrase is not None and isinstance(phrases.get(phrase[1]), list):
            yield from _lines(phrases[phrase[1]], phrases, conditions)
        else:
            yield {**line, "text": PLACE.sub(lambda place: _phrase(place, phrases), text), "when": conditions}


def _phrase(place: re.Match[str], phrases: dict[str, Any]) -> str:
    phrase = phrases.get(place[1], place[0])
    if not isinstance(phrase, str):
        raise msgspec.ValidationError(f"{place[0]} has several lines: it needs a line of its own")
    return phrase


# --- checks ---------------------------------------------------------------------------------------------------------


def _problems(catalogue: Catalogue) -> Iterator[str]:
    answers = {answer.id: answer for answer in catalogue.answer}
    finders = {finder.name: finder for finder in catalogue.finder}
    for what, names in (
        ("finder", [finder.name for finder in catalogue.finder]),
        ("answer", [answer.id for answer in catalogue.answer]),
        ("message", [message.id for message in catalogue.message]),
    ):
        yield from (f"{what} {name}: there are two of this name" for name in names if names.count(name) > 1)
        yield from (f"{what} {name}: not lower-case words with hyphens" for name in names if not _ID.fullmatch(name))
    for message in catalogue.message:
        yield from (f"message {message.id}: {problem}" for problem in _message_problems(message, answers, finders))
    used = {message.answer for message in catalogue.message}
    yield from (f"answer {name}: no message has it" for name in answers.keys() - used)
    asked = {name for names in (row.find for row in catalogue.answer) for name in names}
    asked |= {name for row in catalogue.message for name in (*row.find, *row.must_find)}
    yield from (f"finder {name}: nothing asks for it" for name in finders.keys() - asked)
    for answer in catalogue.answer:
        values = _values_of([m for m in catalogue.message if m.answer == answer.id], answer, finders)
        yield from (f"answer {answer.id}: {problem}" for problem in _answer_problems(answer, values))


def _message_problems(message: Message, answers: Collection[str], finders: dict[str, Finder]) -> Iterator[str]:
    if not message.anchors or any(len(anchor.strip().encode()) < 4 for anchor in message.anchors):
        yield "anchors need four bytes or more"
    if (message.answer is None) == (message.subject is None):
        yield "needs either `answer` (or `cause`) or `subject`"
    if message.answer is not None and message.answer not in answers:
        yield f"no answer {message.answer!r}"
    if message.subject is not None and message.subject not in SUBJECTS:
        yield f"no subject {message.subject!r}; known: {', '.join(sorted(SUBJECTS))}"
    if not message.examples or not message.source:
        yield "needs an example and a source"
    if message.reader and message.reader not in VALUE_READERS:
        yield f"no reader {message.reader!r}; known: {', '.join(sorted(VALUE_READERS))}"
    yield from (f"no finder {name!r}" for name in (*message.find, *message.must_find) if name not in finders)
    for pattern in (message.before, message.after, message.line, message.refuted_by):
        yield from _pattern_problems(pattern)
    if message.subject is not None and message.subject in SUBJECTS:
        known = _subject_values(message.subject)
        names = _values_of([message], None, finders) - ({*READER_VALUES} if message.reader else set())
        yield from (f"{name!r} is no value of a {message.subject}: {', '.join(known)}" for name in names - known)
        if "text" not in names and not message.reader:
            yield "a subject needs the value `text`"


def _answer_problems(answer: Answer, values: Collection[str]) -> Iterator[str]:
    known = {*values, *FACTS, "quote"}
    yield from (f"{name!r} is a captured value and a fact" for name in values if name in FACTS)
    yield from (f"no computed cause {name!r}" for name in answer.computed if name not in COMPUTED_CAUSES)
    if not answer.cause and not answer.computed:
        yield "gives no cause"
    yield from _template_problems(answer.text, known)
    yield from _cause_problems(answer.cause, known, {*values, "quote"})


def _cause_problems(causes: Iterable[AnswerCause], known: Collection[str], unsafe: Collection[str]) -> Iterator[str]:
    for cause in causes:
        if not 0 < cause.score < 1:
            yield f"score {cause.score} is not between 0 and 1"
        yield from _condition_problems(cause.when, known)
        for line in (*cause.evidence, *cause.fix):
            yield from _condition_problems(line.when, known)
            yield from _template_problems(line.text, known)
        for place in _places(cause.fix):
            if place[1] in unsafe and place[2] is None:
                yield f"{place[0]} in a fix needs a text for values that a shell would act upon: {{{place[1]}|TEXT}}"


def _places(lines: Iterable[Line]) -> Iterator[re.Match[str]]:
    return (place for line in lines for place in PLACE.finditer(line.text))


def _template_problems(template: str, known: Collection[str]) -> Iterator[str]:
    for place in PLACE.finditer(template):
        if place[1] not in known:
            yield f"{place[0]}: neither captured, nor a fact, nor a phrase"
    if re.search(r"\\n(?=[A-Za-z])", template):
        yield f"{template!r}: a literal string, in which \\n is no line break"
    if re.search(r"\{[a-z]", PLACE.sub("", template)):
        yield f"{template!r}: a brace that is no place"


def _condition_problems(conditions: Iterable[str], known: Collection[str]) -> Iterator[str]:
    for condition in conditions:
        if parse_condition(condition)[0] not in known:
            yield f"condition {condition!r}: neither captured nor a fact"


def _values_of(messages: Iterable[Message], answer: Answer | None, finders: dict[str, Finder]) -> set[str]:
    names: set[str] = set()
    asked = list(() if answer is None else answer.find)
    for message in messages:
        names |= {*message.set, *(READER_VALUES if message.reader else ())}
        asked += (*message.find, *message.must_find)
        for pattern in (message.before, message.after, message.line):
            names |= {group.partition("__")[0] for group in _groups(pattern)}
    for name in asked:
        if name in finders:
            names |= {group.partition("__")[0] for group in _groups(finders[name].pattern)}
    return names


@functools.cache
def _groups(pattern: str) -> tuple[str, ...]:
    """The named groups of a pattern; kept, as the patterns are more than `re` keeps."""
    return tuple(re.compile(pattern).groupindex)


def _pattern_problems(pattern: str) -> Iterator[str]:
    """A pattern must have bounded repetitions and known conversions."""
    try:
        groups = _groups(pattern)
    except re.error as error:
        yield f"{pattern!r}: {error}"
        return
    for group in groups:
        _name, separator, conversion = group.partition("__")
        if separator and not conversion.isdigit() and conversion not in CONVERSIONS:
            yield f"group {group}: no conversion {conversion!r}; known: {', '.join(CONVERSIONS)}"
    if _is_unbounded(pattern_parser.parse(pattern)):
        yield f"{pattern!r} repeats without bound: write {{0,N}} in place of * and +"


def _is_unbounded(parsed: Any) -> bool:
    for operation, argument in parsed:
        if operation in (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT):
            if argument[1] == opcodes.MAXREPEAT or _is_unbounded(argument[2]):
                return True
        elif operation is opcodes.BRANCH:
            if any(_is_unbounded(branch) for branch in argument[1]):
                return True
        elif operation is opcodes.SUBPATTERN:
            if _is_unbounded(argument[3]):
                return True
        elif operation in (opcodes.ASSERT, opcodes.ASSERT_NOT) and _is_unbounded(argument[1]):
            return True
    return False


def _subject_values(subject: str) -> frozenset[str]:
    """The values that a row with a subject may capture or set; `text` is its name, a flag has any text."""
    return frozenset((*SUBJECTS[subject].__struct_fields__, "source_file", "source_line")) - _NO_VALUES
