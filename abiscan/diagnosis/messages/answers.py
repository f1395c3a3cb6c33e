"""The engine of `abiscan explain`: explains every subject in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from abiscan.diagnosis import missing_library
from abiscan.diagnosis.catalogue import answer_messages
from abiscan.diagnosis.catalogue.computed_causes import COMPUTED_CAUSES
from abiscan.diagnosis.catalogue.match_messages import FoundMessage
from abiscan.diagnosis.catalogue.subject_readers import location_of
from abiscan.diagnosis.cause_catalogue import title
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.messages import spelling
from abiscan.diagnosis.messages.bare_names import bare_names, is_typed
from abiscan.diagnosis.messages.environment_pairs import unfit_pairs
from abiscan.diagnosis.messages.find_messages import find_plain_messages
from abiscan.diagnosis.messages.found_subjects import FoundSubject, LibrarySubject, SymbolSubject, VersionSubject
from abiscan.diagnosis.messages.mentioned_names import mentioned_names
from abiscan.diagnosis.messages.name_tokens import mangled_names
from abiscan.diagnosis.messages.question import FileFacts, Question, final_causes
from abiscan.diagnosis.messages.read_text import ReadText
from abiscan.diagnosis.messages.stated_requirements import stated_requirements
from abiscan.diagnosis.messages.symbol_answer import answer_symbol
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, ranked
from abiscan.diagnosis.reference import Reference
from abiscan.diagnosis.symbol_causes import causes_of
from abiscan.mangling import Demangler
from abiscan.model.cause import CauseId, Confidence
from abiscan.model.imports import DemangledBy, Owner
from abiscan.model.platforms import machines_naming
from abiscan.model.subject import Subject, SubjectKind
from abiscan.ownership.names import owner_of_library, owner_of_version
from abiscan.ownership.vendors import vendor_of, vendor_of_library

_OF_NAMES: Final = frozenset((SubjectKind.SYMBOL, SubjectKind.LIBRARY, SubjectKind.VERSION))

# Mangled names of a typed text that are compared with its sentences.
_MOST_NAMES: Final = 50

_Found = FoundSubject | FoundMessage


def answer(
    read: ReadText, knowledge: Knowledge, needed_by: str | None = None, *, file_facts: FileFacts | None = None
) -> tuple[Subject, ...]:
    """Explain every subject of a text (see `abiscan.diagnosis.explain`)."""
    names = bare_names(read.text, knowledge, sure=False) if _is_about_mangled_names(read, knowledge) else ()
    answered = _answers(names or read.found, knowledge, needed_by, file_facts)
    typed = _is_weak(answered) and is_typed(read.text)
    if typed:
        loosely = _answers(find_plain_messages(read.text), knowledge, needed_by, file_facts)
        answered = _better(answered, loosely)
    if _is_weak(answered) and not any(subject.kind in _OF_NAMES for subject in answered):
        required = _answers(stated_requirements(read.text, knowledge), knowledge, needed_by, file_facts)
        answered = _better(answered, tuple(map(_unsure, required)))
    if not answered:
        # Names without a message count only if there is no message.
        names = bare_names(read.text, knowledge, sure=needed_by is not None)
        answered = _answers(names, knowledge, needed_by, file_facts)
    if _is_weak(answered) and not any(subject.kind in _OF_NAMES for subject in answered):
        pairs = _answers(unfit_pairs(read.text, knowledge), knowledge, needed_by, file_facts)
        answered = _better(answered, tuple(_unsure(pair) for pair in pairs if pair.causes))
    if typed and _is_weak(answered) and not any(subject.kind in _OF_NAMES for subject in answered):
        # The end of a failed build tells less than a name.
        mentioned = _answers(mentioned_names(read.text), knowledge, needed_by, file_facts)
        answered = _better(answered, tuple(map(_unsure, mentioned)))
    return answered


_UNNAMED: Final = re.compile(r"(?<![\w.])(?:MODULE|FUNCTION)(?!\w)")


def _is_about_mangled_names(read: ReadText, knowledge: Knowledge) -> bool:
    """Whether all that is found are identifiers in sentences, and a person also wrote their mangled names, which tell
    more; a name that torch exports may be what nm shows instead."""
    if not read.found or not is_typed(read.text) or not all(isinstance(each, FoundMessage) for each in read.found):
        return False
    written = (name for _, name in mangled_names(read.text, _MOST_NAMES))
    names = [name for name in written if not spelling.is_known(name, knowledge)]
    words = [each.message.anchors for each in read.found if isinstance(each, FoundMessage)] if names else []
    return bool(names) and all(
        any(f"{len(word)}{word}" in name for word in anchors for name in names) for anchors in words
    )


def _better(one: tuple[Subject, ...], other: tuple[Subject, ...]) -> tuple[Subject, ...]:
    """The answers of a looser reading only if they are more than possible, or the first ones."""
    return other if _is_weak(one) and (not one or not _is_weak(other)) else one


def _is_weak(subjects: tuple[Subject, ...]) -> bool:
    """Whether no cause is more than possible: a text in looser words may have more."""
    return all(cause.confidence is Confidence.LOW for subject in subjects for cause in subject.causes)


def _unsure(subject: Subject) -> Subject:
    """A subject that nothing but its name shows: no cause with high confidence."""
    most = {Confidence.HIGH: Confidence.MEDIUM}
    causes = (replace(cause, confidence=most.get(cause.confidence, cause.confidence)) for cause in subject.causes)
    return replace(subject, causes=tuple(causes))


def _answers(
    found: Iterable[_Found], knowledge: Knowledge, needed_by: str | None, file_facts: FileFacts | None
) -> tuple[Subject, ...]:
    found = tuple(found)
    unfound = tuple(each.text for each in found if isinstance(each, LibrarySubject) and each.by_ldd)
    question = Question(knowledge, needed_by, file_facts, Demangler(), unfound)
    answered: dict[tuple[str, ...], Subject] = {}
    echoes: set[tuple[str, ...]] = set()
    alone: set[tuple[str, ...]] = set()
    named = {answer_messages.subject_of(each) for each in found if isinstance(each, FoundMessage)}
    unfound_vendors = {vendor_of_library(each.text) for each in found if isinstance(each, LibrarySubject)} - {None}
    for each in found:
        if isinstance(each, SymbolSubject) and not each.needed_by and vendor_of(each.text) in unfound_vendors:
            continue  # `Could not locate cudnn_ops64_9.dll ... Cannot load symbol cudnnCreate`: of one library
        if isinstance(each, SymbolSubject) and {(name, SubjectKind.SYMBOL) for name in _names_of(each)} & named:
            continue  # a row of the catalogue explains this very name
        subject = _ANSWERS[type(each)](each, question)
        if subject is None:
            continue
        distinct = str(each.position) if isinstance(each, FoundMessage) else "".join(each.key[2:])
        key: tuple[str, ...] = (subject.kind, subject.mangled or subject.text, distinct)
        if isinstance(each, FoundMessage) and each.answer.only_alone:
            key = (subject.kind, each.answer.id)  # of the text as a whole, in however many words
            alone.add(key)
        answered.setdefault(key, subject)
        if isinstance(each, FoundMessage) and each.answer.repeats_symbol:
            echoes.add(key)
    whole = frozenset(alone)
    if not alone < answered.keys():
        # The last line of a failed build tells less than any other message.
        alone = {key for key in alone if all(cause.confidence is Confidence.LOW for cause in answered[key].causes)}
    if alone < answered.keys():
        answered = {key: subject for key, subject in answered.items() if key not in alone}
    # Of two answers about the whole text, one may repeat the other's commands.
    fixes = {key: subject.causes[0].fix for key, subject in answered.items() if key in whole and subject.causes}
    repeated = {key for key, fix in fixes.items() if any(_is_part(fix, other) for other in fixes.values())}
    answered = {key: subject for key, subject in answered.items() if key not in repeated}
    # A missing operator is a consequence of the missing symbol, because its library did not load.
    with_symbol = any(subject.kind is SubjectKind.SYMBOL for subject in answered.values())
    return tuple(subject for key, subject in answered.items() if not (with_symbol and key in echoes))


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
    file = msgspec.structs.replace(question.referring_file(found.needed_by), importer=found.importer or "")
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
    problem = "" if untitled else title(best[0].cause, knowledge.target)
    return replace(_subject(found, best, owner_of_library(found.text), missing), title=problem)


def _version(found: VersionSubject, question: Question) -> Subject:
    reference = Reference(found.text, found.library, found.text)
    missing = MissingName(reference, question.knowledge, question.referring_file(found.needed_by))
    owner = owner_of_version(found.text, found.library or found.text)
    return _subject(found, causes_of(missing), owner or Owner.OTHER, missing)


def _message(found: FoundMessage, question: Question) -> Subject:
    text, kind = answer_messages.subject_of(found)
    file = question.referring_file(found.values.get("needed_by"))
    reference = Reference(text, by_compiler=found.answer.kind is SubjectKind.COMPILE_ERROR)
    missing = MissingName(reference, question.knowledge, file)
    computed = (cause for name in found.answer.computed for cause in COMPUTED_CAUSES[name](missing))
    causes = ranked((*computed, *answer_messages.candidates(found, missing)))
    return Subject(
        text,
        kind,
        None,
        None,
        DemangledBy.NONE,
        found.answer.owner,
        None,
        final_causes(causes, missing),
        needed_by=file.path or None,
        location=location_of(found.values),
        message=found.message.id,
    )


def _subject(found: FoundSubject, causes: Iterable[Candidate], owner: Owner, missing: MissingName) -> Subject:
    return Subject(
        found.text,
        found.kind,
        None,
        None,
        DemangledBy.NONE,
        owner,
        None,
        final_causes(causes, missing),
        needed_by=missing.file.path or None,
        location=found.location,
        message=found.message,
    )


_ANSWERS: Final[Mapping[type, Callable[[Any, Question], Subject | None]]] = {
    SymbolSubject: answer_symbol,
    LibrarySubject: _library,
    VersionSubject: _version,
    FoundMessage: _message,
}
