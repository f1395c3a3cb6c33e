"""The engine behind `abiscan explain`: a text -> every subject in it, each answered."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import msgspec

from abiscan.diagnosis import missing_library
from abiscan.diagnosis.catalogue import answer_messages
from abiscan.diagnosis.catalogue.computed_causes import COMPUTED_CAUSES
from abiscan.diagnosis.catalogue.match_messages import FoundMessage
from abiscan.diagnosis.catalogue.subject_readers import location_of
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.messages import (
    build_errors,
    missing_operators,
    near_names,
    python_errors,
    spelling,
)
from abiscan.diagnosis.messages.bare_names import bare_names
from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.messages.read_text import ReadText
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, causes_of, ranked
from abiscan.mangling import Demangler, NameKind, classify
from abiscan.model import versions
from abiscan.model.facts import SharedObject
from abiscan.model.imports import DemangledBy, Owner
from abiscan.model.subject import Subject, SubjectKind
from abiscan.ownership.names import is_python_name, owner_of_library, owner_of_version

# Two forms of history that a person can take in.
_HISTORY = 4

FileFacts = Callable[[str], SharedObject | None]
"""Path of a file that a message names -> its facts, if it is there and can be read."""

_Key = tuple[SubjectKind, str, str | None]


def answer(
    read: ReadText, knowledge: Knowledge, needed_by: str | None = None, *, file_facts: FileFacts | None = None
) -> tuple[Subject, ...]:
    """Every subject of a text, answered (`abiscan.diagnosis.explain` says how)."""
    answered = _answers(read.mentions, knowledge, needed_by, file_facts)
    if answered:
        return answered
    # Names that stand by themselves count only where no message is answered.
    names = bare_names(read.text, knowledge, sure=needed_by is not None)
    return _answers(names, knowledge, needed_by, file_facts)


def _answers(
    found: Iterable[Mention | FoundMessage], knowledge: Knowledge, needed_by: str | None, file_facts: FileFacts | None
) -> tuple[Subject, ...]:
    demangler = Demangler()
    answered: dict[_Key, Subject] = {}
    echoes: set[_Key] = set()
    found = tuple(found)
    unfound = tuple(mention.text for mention in found if isinstance(mention, Mention) and mention.by_ldd)
    for mention in found:
        if isinstance(mention, FoundMessage):
            message = _answer_message(mention, knowledge, needed_by, file_facts)
            key: _Key = message.kind, message.text, str(mention.position)
            answered[key] = message
            if mention.answer.repeats_symbol:
                echoes.add(key)
            continue
        subject = _answer(mention, knowledge, needed_by, file_facts, demangler, unfound=unfound)
        if subject is None:
            continue
        key = (subject.kind, subject.mangled or subject.text, mention.version)
        answered.setdefault(key, subject)
        if missing_operators.is_echo(mention):
            echoes.add(key)
    # A missing operator only repeats the missing symbol that kept its library from loading.
    with_symbol = any(subject.kind is SubjectKind.SYMBOL for subject in answered.values())
    return tuple(subject for key, subject in answered.items() if not (with_symbol and key in echoes))


def _answer(
    mention: Mention,
    knowledge: Knowledge,
    needed_by: str | None,
    file_facts: FileFacts | None,
    demangler: Demangler,
    *,
    unfound: tuple[str, ...],
) -> Subject | None:
    file_name = mention.needed_by or needed_by
    facts = file_facts(file_name) if file_facts is not None and file_name is not None else None
    missing = MissingName(
        mention.text,
        knowledge,
        library=mention.library,
        version=mention.version,
        file_name=file_name,
        file=facts,
        link_time=mention.by_linker,
    )
    match mention.complaint:
        case Complaint.SYMBOL:
            return _symbol(mention, knowledge, file_name, facts, demangler, unfound=unfound)
        case Complaint.LIBRARY:
            found = ranked(
                missing_library.causes(
                    mention.text,
                    missing,
                    at_link_time=mention.by_linker,
                    names_program=mention.needed_by is not None,
                    by_torch=mention.by_torch,
                )
            )
            return _subject(mention, found, owner_of_library(mention.text), file_name)
        case Complaint.SYMBOL_VERSION:
            owner = owner_of_version(mention.text, mention.library or mention.text)
            return _subject(mention, causes_of(missing), owner or Owner.OTHER, file_name)
        case Complaint.MISSING_OPERATOR | Complaint.NO_OPERATORS:
            return _subject(mention, ranked(missing_operators.missing_operator(mention, missing)), Owner.SELF)
        case Complaint.UNDECLARED:
            return _subject(mention, ranked(build_errors.undeclared(mention, missing)), Owner.TORCH)
        case Complaint.NO_HEADER:
            return _subject(mention, ranked(build_errors.no_header(mention, missing)), None)
        case Complaint.HALF_OPERATION:
            return _subject(mention, ranked(build_errors.half_operation(mention)), None)
        case Complaint.NO_MEMBER:
            return _subject(mention, ranked(build_errors.no_member(mention, missing)), Owner.TORCH)
        case Complaint.OLD_STANDARD:
            return _subject(mention, ranked(build_errors.old_standard(mention, missing)), Owner.TORCH)
        case Complaint.PYTHON_NAME:
            found = ranked(python_errors.name_error(mention))
        case Complaint.NO_OVERLOAD:
            found = ranked(python_errors.no_overload(mention))
    # Ordinary errors of Python and of compilers are nobody's.
    return _subject(mention, found, None) if found else None


def _answer_message(
    found: FoundMessage, knowledge: Knowledge, needed_by: str | None, file_facts: FileFacts | None
) -> Subject:
    text, kind = answer_messages.subject_of(found)
    file_name = found.values.get("needed_by") or needed_by
    facts = file_facts(file_name) if file_facts is not None and file_name is not None else None
    missing = MissingName(text, knowledge, file_name=file_name, file=facts)
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
        tuple(candidate.as_cause() for candidate in causes),
        needed_by=file_name,
        location=location_of(found.values),
        message=found.message.id,
    )


def _subject(
    mention: Mention, found: Iterable[Candidate], owner: Owner | None, needed_by: str | None = None
) -> Subject:
    return Subject(
        mention.text,
        mention.kind,
        None,
        None,
        DemangledBy.NONE,
        owner,
        None,
        tuple(candidate.as_cause() for candidate in found),
        needed_by=needed_by,
        location=mention.location,
    )


# --- symbols --------------------------------------------------------------------------------------------------------


def _symbol(
    mention: Mention,
    knowledge: Knowledge,
    file_name: str | None,
    facts: SharedObject | None,
    demangler: Demangler,
    *,
    unfound: tuple[str, ...],
) -> Subject | None:
    macos = mention.macos or (file_name or "").endswith(".dylib") or "darwin" in (file_name or "")
    spelled = spelling.read(mention.text, knowledge, macos=macos, cut_off=mention.cut_off)
    if spelled is None:
        return None
    name = spelled.names[0]
    missing = MissingName(
        name,
        knowledge,
        library=mention.library,
        version=mention.version,
        file_name=file_name,
        file=facts,
        spelled_as=spelled.shown,
        macos=spelled.macos or macos,
        # GNU's and LLVM's demanglers write no `void` for no parameters, Microsoft's does.
        msvc=mention.msvc or "(void)" in mention.text or classify(mention.text.removeprefix("__imp_")) is NameKind.MSVC,
        link_time=mention.by_linker,
        before_torch=mention.before_torch,
        unfound=unfound if file_name is not None else (),
    )
    demangled = demangler.demangle(name)
    shown = demangled.text if spelled.shown is None else spelled.shown
    mangled = missing.spelled if spelled.exact else (mention.text if missing.msvc else None)
    notes = list(spelled.notes)
    if demangled.only_llvm:
        notes.append("GNU's demangler (c++filt) of this machine cannot read the name; LLVM's can.")
    elif demangled.neither and not spelled.notes:
        notes.append("No demangler here can read the name.")
    if knowledge.target is None and missing.is_torch_name:
        notes.append("No torch is known to compare with: name one (--torch VERSION) for a sharper answer.")
    causes = causes_of(missing)
    near = _near(mention.text if spelled.given == mention.text else name, missing, spelled)
    if near and (missing.cxx is None or not spelled.exact):
        causes, notes = _as_if_typed_well(near[0], missing, causes), []
    if not causes and not near and missing.windows is None and not missing.is_torch_name:
        return None
    return Subject(
        mention.text,
        SubjectKind.SYMBOL,
        mangled,
        shown,
        demangled.by if spelled.exact else DemangledBy.NONE,
        missing.owner,
        missing.windows if spelled.exact else None,
        tuple(candidate.as_cause() for candidate in causes),
        history=history_of(missing),
        needed_by=file_name,
        location=mention.location,
        notes=tuple(notes),
        near=near,
    )


def _near(name: str, missing: MissingName, spelled: spelling.Spelled) -> tuple[str, ...]:
    """What a name that no build exports may be meant to be; a slip can leave a C++ name that nobody can read."""
    # Programs make no slips.
    typed = not missing.link_time and missing.file_name is None and not missing.msvc
    if missing.windows or (missing.related and not typed):
        return ()
    if missing.related:
        return near_names.with_one_word_misspelt(name, missing.knowledge) if spelled.exact else ()
    if is_python_name(name):
        return near_names.near_of_python(name)
    near = near_names.near(name, missing.knowledge) if spelled.exact or classify(name) is NameKind.CXX else ()
    if near or missing.cxx is None or not missing.is_torch_name or not typed:
        return near
    return near_names.near_of_entity((*missing.cxx.scope, missing.cxx.base), missing.shown, missing.knowledge)


def _as_if_typed_well(name: str, missing: MissingName, causes: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """The causes of the name that a name which nobody can read is nearly; those of the latter where it has none."""
    meant = MissingName(
        name,
        missing.knowledge,
        library=missing.library,
        version=missing.version,
        file_name=missing.file_name,
        file=missing.file,
        macos=missing.macho,
        link_time=missing.link_time,
    )
    taken = f"No known build exports the name as it stands; it is taken to be {name}."
    found = [msgspec.structs.replace(cause, evidence=(taken, *cause.evidence)) for cause in causes_of(meant)]
    return tuple(found) or causes


def history_of(missing: MissingName) -> tuple[str, ...]:
    """The name's windows, and what the same entity was before and became after."""
    if missing.windows is None or missing.cxx is None:
        return () if missing.windows is None or missing.history is None else (missing.exported_text,)
    lines: list[str] = []
    if missing.spelled_as is not None and missing.spelled_as.startswith("_Z"):
        return ()  # of a name without its end nobody can say which of the forms it is
    lines += [f"{spans.text()}: {missing.shown} ({', '.join(names[:2])})" for spans, names in missing.places if names]
    arguments = missing.cxx.template_args or ()
    forms = [f for f in missing.related if f.windows and _same_arguments(f.parsed.template_args or (), arguments)]
    forms.sort(key=lambda f: versions.order(f.windows[0][0]) or ())
    seen: set[str] = set()
    for each in forms:
        line = f"{each.windows.text()}: {each.parsed.display[:200]}"
        if line not in seen and len(seen) < _HISTORY:
            seen.add(line)
            lines.append(line)
    return tuple(lines)


def _same_arguments(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return all(x == y for x, y in zip(a, b, strict=False))
