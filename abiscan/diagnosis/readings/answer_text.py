"""The readings of a text in `abiscan explain`. Read this first.

A text is read as programs print their messages. If that finds nothing, or no cause above low confidence, looser
readings follow, in the order of the table; the first that finds more counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec import Struct

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.readings import pasted_names
from abiscan.diagnosis.readings.answer_subjects import answer_found, unsure
from abiscan.diagnosis.readings.bare_names import bare_names, is_typed
from abiscan.diagnosis.readings.environment_pairs import unfit_pairs
from abiscan.diagnosis.readings.find_messages import find_plain_messages
from abiscan.diagnosis.readings.found_subjects import FoundSubject
from abiscan.diagnosis.readings.match_messages import FoundMessage
from abiscan.diagnosis.readings.mentioned_names import mentioned_names, stated_symptoms
from abiscan.diagnosis.readings.question import FileFacts, Question
from abiscan.diagnosis.readings.read_text import ReadText
from abiscan.diagnosis.readings.stated_requirements import stated_requirements
from abiscan.diagnosis.text.name_tokens import mangled_names
from abiscan.model.cause import Confidence
from abiscan.model.subject import Subject, SubjectKind

# Mangled names of a typed text that are compared with its sentences.
_MOST_NAMES: Final = 50

_OF_NAMES: Final = frozenset((SubjectKind.SYMBOL, SubjectKind.LIBRARY, SubjectKind.VERSION))


class TextReading(Struct, frozen=True):
    """A way to read a text.

    Attributes:
        name: what it reads.
        find: finds the subjects.
        when: whether it is tried, by the text and the weak answers of the readings before it.
        is_sure: whether its causes keep a high confidence: more than a name shows them.
    """

    name: str
    find: Callable[[Question], Iterable[FoundSubject | FoundMessage]]
    when: Callable[[Question, tuple[Subject, ...]], bool]
    is_sure: bool = True


def has_no_answer(question: Question, answered: tuple[Subject, ...]) -> bool:
    """No subject has an answer."""
    return not answered


def is_typed_text(question: Question, answered: tuple[Subject, ...]) -> bool:
    """A person wrote the text, and not a program."""
    return is_typed(question.read.text)


def has_no_name(question: Question, answered: tuple[Subject, ...]) -> bool:
    """No symbol, library or version has an answer."""
    return not any(subject.kind in _OF_NAMES for subject in answered)


def is_typed_without_name(question: Question, answered: tuple[Subject, ...]) -> bool:
    """A person wrote the text, and it has no answer about a name."""
    return is_typed_text(question, answered) and has_no_name(question, answered)


def has_names_of_identifiers(question: Question, answered: tuple[Subject, ...]) -> bool:
    """All that is found are identifiers in sentences, and a person also wrote their mangled names, which are more
    exact; a name that torch exports may be what nm shows instead."""
    read = question.read
    if not read.found or not is_typed(read.text) or not all(isinstance(each, FoundMessage) for each in read.found):
        return False
    written = (name for _, name in mangled_names(read.text, _MOST_NAMES))
    names = [name for name in written if not pasted_names.is_known(name, question.knowledge)]
    words = [each.message.anchors for each in read.found if isinstance(each, FoundMessage)] if names else []
    return bool(names) and all(
        any(f"{len(word)}{word}" in name for word in anchors for name in names) for anchors in words
    )


READINGS: Final = (
    TextReading(
        "mangled names beside their identifiers",
        lambda question: bare_names(question.read.text, question.knowledge, sure=False),
        has_names_of_identifiers,
    ),
    TextReading("messages, as programs print them", lambda question: question.read.found, has_no_answer),
    TextReading("messages in plain form", lambda question: find_plain_messages(question.read.text), is_typed_text),
    TextReading(
        "requirements that sentences state",
        lambda question: stated_requirements(question.read.text, question.knowledge),
        has_no_name,
        is_sure=False,
    ),
    TextReading(
        "names without a message",
        lambda question: bare_names(question.read.text, question.knowledge, sure=question.needed_by is not None),
        has_no_answer,
    ),
    TextReading(
        "what does not fit its torch",
        lambda question: unfit_pairs(question.read.text, question.knowledge),
        has_no_name,
        is_sure=False,
    ),
    TextReading(
        "names beside words of failure",
        lambda question: mentioned_names(question.read.text),
        is_typed_without_name,
        is_sure=False,
    ),
    TextReading(
        "failures in people's words",
        lambda question: stated_symptoms(question.read.text),
        has_no_answer,
        is_sure=False,
    ),
)


def answer(
    read: ReadText, knowledge: Knowledge, needed_by: str | None = None, *, file_facts: FileFacts | None = None
) -> tuple[Subject, ...]:
    """Explain every subject of a text, in its order, without duplicates."""
    question = Question(read, knowledge, needed_by, file_facts)
    answered: tuple[Subject, ...] = ()
    for reading in READINGS:
        if _is_weak(answered) and reading.when(question, answered):
            other = answer_found(reading.find(question), question)
            if not reading.is_sure:
                other = tuple(unsure(subject) for subject in other if subject.causes)
            if not answered or not _is_weak(other):
                answered = other
    return answered


def _is_weak(subjects: tuple[Subject, ...]) -> bool:
    """Whether no cause is more than possible."""
    return all(cause.confidence is Confidence.LOW for subject in subjects for cause in subject.causes)
