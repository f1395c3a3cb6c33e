"""Explains the subjects that a reading of a text found (`answer_text.py`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from msgspec.structs import replace

from abiscan.diagnosis.catalogue.cause_catalogue import title
from abiscan.diagnosis.libraries import missing_library
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, ranked
from abiscan.diagnosis.readings import answer_messages
from abiscan.diagnosis.readings.computed_causes import COMPUTED_CAUSES
from abiscan.diagnosis.readings.find_messages import is_warning, last_error
from abiscan.diagnosis.readings.found_subjects import (
    FoundSubject,
    LibrarySubject,
    SymbolSubject,
    VersionSubject,
    location_of,
)
from abiscan.diagnosis.readings.match_messages import FoundMessage
from abiscan.diagnosis.readings.question import Question, final_causes
from abiscan.diagnosis.readings.symbol_answer import answer_symbol
from abiscan.diagnosis.reference import Reference
from abiscan.diagnosis.symbol_causes import causes_of
from abiscan.model.cause import CauseId, Confidence
from abiscan.model.imports import DemangledBy, Owner
from abiscan.model.platforms import machines_naming
from abiscan.model.subject import Subject, SubjectKind
from abiscan.ownership.names import owner_of_library, owner_of_version
from abiscan.ownership.torch_names import is_torch_library
from abiscan.ownership.vendors import vendor_of, vendor_of_library

_Found = FoundSubject | FoundMessage


def answer_found(found: Iterable[_Found], question: Question) -> tuple[Subject, ...]:
    """Explain what a reading of a text found, without what repeats or follows from other parts of it."""
    is_as_printed = found is question.read.found
    found = tuple(found)
    unfound = tuple(each.text for each in found if isinstance(each, LibrarySubject) and each.by_ldd)
    question = replace(question, unfound=unfound)
    answered: dict[tuple[str, ...], tuple[_Found, Subject]] = {}
    for each in _without_repeated_symbols(_without_torch_of_ldd(found)):
        subject = _ANSWERS[type(each)](each, question)
        if subject is not None:
            answered.setdefault(_key(each, subject), (each, subject))
    pairs = _without_ends_of_builds(list(answered.values()))
    if is_as_printed:
        pairs = _warnings_behind_errors(pairs, question.read.text)
    # A missing operator is a consequence of the missing symbol, because its library did not load.
    with_symbol = any(subject.kind is SubjectKind.SYMBOL for _, subject in pairs)
    return tuple(
        subject
        for each, subject in pairs
        if not (with_symbol and isinstance(each, FoundMessage) and each.answer.repeats_symbol)
    )


def _without_torch_of_ldd(found: Sequence[_Found]) -> Sequence[_Found]:
    """Leave out the libraries of torch that `ldd` did not find, beside another library that was not found: it finds
    those of torch, and those of CUDA that torch loads, for no extension."""
    unfound = [each for each in found if isinstance(each, LibrarySubject) and not is_torch_library(each.text)]
    if all(each.by_ldd and owner_of_library(each.text) is Owner.CUDA for each in unfound):
        return found
    return [
        each for each in found if not (isinstance(each, LibrarySubject) and each.by_ldd and is_torch_library(each.text))
    ]


def _without_repeated_symbols(found: Sequence[_Found]) -> Iterator[_Found]:
    named = {answer_messages.subject_of(each) for each in found if isinstance(each, FoundMessage)}
    unfound_vendors = {vendor_of_library(each.text) for each in found if isinstance(each, LibrarySubject)} - {None}
    for each in found:
        if isinstance(each, SymbolSubject):
            if not each.needed_by and vendor_of(each.text) in unfound_vendors:
                continue  # `Could not locate cudnn_ops64_9.dll ... Cannot load symbol cudnnCreate`: of one library
            if {(name, SubjectKind.SYMBOL) for name in _names_of(each)} & named:
                continue  # a row of the catalogue explains this very name
        yield each


def _key(found: _Found, subject: Subject) -> tuple[str, ...]:
    """What two findings of one subject have in common."""
    if isinstance(found, FoundMessage):
        if found.answer.only_alone:
            return subject.kind, found.answer.id
        return subject.kind, subject.mangled or subject.text, str(found.position)
    return subject.kind, subject.mangled or subject.text, "".join(found.key[2:])


def _without_ends_of_builds(answered: list[tuple[_Found, Subject]]) -> list[tuple[_Found, Subject]]:
    """Leave out answers about the whole text: beside any other answer; if there is none, those with low confidence (the
    last line of a failed build has less than any other message), and those with commands that another has, too."""
    others = [pair for pair in answered if not answer_messages.is_of_text(pair[0])]
    if others:
        return others
    sure = [
        (each, subject)
        for each, subject in answered
        if any(cause.confidence is not Confidence.LOW for cause in subject.causes)
    ]
    answered = sure or answered
    fixes = [subject.causes[0].fix for _, subject in answered if subject.causes]
    return [
        (each, subject)
        for each, subject in answered
        if not subject.causes or not any(_is_part(subject.causes[0].fix, other) for other in fixes)
    ]


def _warnings_behind_errors(pairs: list[tuple[_Found, Subject]], text: str) -> list[tuple[_Found, Subject]]:
    """A warning of a library that a program does without, or one that is not sure, and a check of CMake, behind the
    errors that have a reason of their own; before another error with medium confidence at most: it may be the reason,
    or not."""
    warnings = {
        each.position
        for each, subject in pairs
        if is_warning(text, each.position, checks=not isinstance(each, LibrarySubject) and _is_sure(subject))
    }
    error = last_error(text, min(warnings, default=len(text)))
    rated = [
        (each, unsure(subject), True) if each.position in warnings and each.position < error else (each, subject, False)
        for each, subject in pairs
    ]
    if any(_is_sure(subject) for _, subject, warns in rated if not warns):
        rated.sort(key=lambda each: each[2])
    return [(each, subject) for each, subject, _ in rated]


def _is_sure(subject: Subject) -> bool:
    return bool(subject.causes) and subject.causes[0].confidence is Confidence.HIGH


def unsure(subject: Subject) -> Subject:
    """The subject with medium confidence at most."""
    most = {Confidence.HIGH: Confidence.MEDIUM}
    causes = (replace(cause, confidence=most.get(cause.confidence, cause.confidence)) for cause in subject.causes)
    return replace(subject, causes=tuple(causes))


_UNNAMED: Final = re.compile(r"(?<![\w.])(?:MODULE|FUNCTION)(?!\w)")


def _is_part(fix: str, other: str) -> bool:
    """Whether other commands have all of these, some with names in place of `MODULE` and `FUNCTION`."""
    lines = {line for line in fix.split("\n") if not _UNNAMED.search(line)}
    return fix != other and bool(fix in other or (lines and lines < set(other.split("\n"))))


def _names_of(found: SymbolSubject) -> tuple[str, ...]:
    """A symbol as in the text, and without its scope, as a row of the catalogue names it; without arguments, too, if
    those are of a source: demanglers print int64_t as long."""
    if found.msvc and (base := re.match(r"\?(\w{1,128})@", found.text)) is not None:
        return found.text, base[1]
    name, _, arguments = found.text.partition("<")
    if arguments.partition(">")[0].endswith("_t"):
        return found.text, name.rpartition("::")[2]
    return found.text, found.text.rpartition("::")[2]


def _library(found: LibrarySubject, question: Question) -> Subject:
    file = replace(question.referring_file(found.needed_by), importer=found.importer or "")
    bare = found.message is None and not file.path
    reference = Reference(found.text, link_time=found.by_linker, bare=bare)
    machines = machines_naming(found.text)
    knowledge = question.knowledge.for_platform(machines[0]) if machines else question.knowledge
    missing = MissingName(reference, knowledge, file)
    causes = missing_library.causes(
        found.text,
        missing,
        at_link_time=found.by_linker,
        names_program=found.needed_by is not None,
        by_torch=found.by_torch,
        searched=found.searched,
    )
    best = ranked(causes)
    untitled = not best or best[0].cause is CauseId.LIBRARY_MISSING
    problem = "" if untitled else title(best[0].cause, knowledge.target, best[0].form)
    subject = _subject(found.kind, best, owner_of_library(found.text), missing)
    return replace(subject, title=problem, location=found.location, message=found.message)


def _version(found: VersionSubject, question: Question) -> Subject:
    reference = Reference(found.text, found.library, found.text)
    missing = MissingName(reference, question.knowledge, question.referring_file(found.needed_by))
    owner = owner_of_version(found.text, found.library or found.text)
    subject = _subject(found.kind, causes_of(missing), owner or Owner.OTHER, missing)
    return replace(subject, location=found.location, message=found.message)


def _message(found: FoundMessage, question: Question) -> Subject:
    text, kind = answer_messages.subject_of(found)
    file = question.referring_file(found.values.get("needed_by"))
    reference = Reference(text, by_compiler=found.answer.kind is SubjectKind.COMPILE_ERROR)
    missing = MissingName(reference, question.knowledge, file)
    computed = (cause for name in found.answer.computed for cause in COMPUTED_CAUSES[name](missing))
    causes = ranked((*computed, *answer_messages.candidates(found, missing)))
    subject = _subject(kind, causes, found.answer.owner, missing)
    subject = subject if found.is_sure else unsure(subject)
    return replace(subject, location=location_of(found.values), message=found.message.id)


def _subject(kind: SubjectKind, causes: Iterable[Candidate], owner: Owner | None, missing: MissingName) -> Subject:
    """The answer for a name that is not a symbol."""
    name, file = missing.reference.name, missing.file.path or None
    final = final_causes(causes, missing)
    return Subject(name, kind, None, None, DemangledBy.NONE, owner, None, final, needed_by=file)


_ANSWERS: Final[Mapping[type, Callable[[Any, Question], Subject | None]]] = {
    SymbolSubject: answer_symbol,
    LibrarySubject: _library,
    VersionSubject: _version,
    FoundMessage: _message,
}
