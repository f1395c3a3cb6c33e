"""The engine of `abiscan explain`: explains every subject in a text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from abiscan.diagnosis import missing_library
from abiscan.diagnosis.catalogue import answer_messages
from abiscan.diagnosis.catalogue.computed_causes import COMPUTED_CAUSES
from abiscan.diagnosis.catalogue.match_messages import FoundMessage
from abiscan.diagnosis.catalogue.subject_readers import location_of
from abiscan.diagnosis.cause_catalogue import OTHER_LIBRARY, title
from abiscan.diagnosis.extension_fixes import without_build_first
from abiscan.diagnosis.installer_commands import for_installer
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.messages import near_names, spelling
from abiscan.diagnosis.messages.bare_names import bare_names, is_typed
from abiscan.diagnosis.messages.environment_pairs import unfit_pairs
from abiscan.diagnosis.messages.find_messages import find_plain_messages
from abiscan.diagnosis.messages.found_subjects import FoundSubject, LibrarySubject, SymbolSubject, VersionSubject
from abiscan.diagnosis.messages.mentioned_names import mentioned_names
from abiscan.diagnosis.messages.read_text import ReadText
from abiscan.diagnosis.messages.stated_requirements import stated_requirements
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, ranked
from abiscan.diagnosis.reference import Reference, ReferringFile
from abiscan.diagnosis.related_exports import find_related
from abiscan.diagnosis.symbol_causes import causes_of
from abiscan.diagnosis.wheel_rows import platform_of
from abiscan.diagnosis.windows_commands import for_windows
from abiscan.mangling import Demangler, DifferenceKind, NameKind, classify, parse
from abiscan.model import versions
from abiscan.model.cause import Cause, CauseId, Confidence
from abiscan.model.facts import SharedObject
from abiscan.model.imports import DemangledBy, Owner
from abiscan.model.platforms import OperatingSystem, machines_naming, system_of
from abiscan.model.subject import Subject, SubjectKind
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.names import is_python_name, owner_of_library, owner_of_version
from abiscan.ownership.vendors import vendor_of, vendor_of_library

# Maximum number of history lines.
_HISTORY = 4
# Medium confidence at most: another name with this beginning may be the missing one.
_OF_GUESS: Final = 0.79

_OF_NAMES: Final = frozenset((SubjectKind.SYMBOL, SubjectKind.LIBRARY, SubjectKind.VERSION))

FileFacts = Callable[[str], SharedObject | None]
"""Path in a message -> facts of the file, if it can be read."""
_Found = FoundSubject | FoundMessage


class _Question(Struct, frozen=True):
    """The facts for the subjects of one text.

    Attributes:
        needed_by: the file that the whole text is about.
        unfound: libraries that `ldd` did not find.
    """

    knowledge: Knowledge
    needed_by: str | None
    file_facts: FileFacts | None
    demangler: Demangler
    unfound: tuple[str, ...]

    def referring_file(self, needed_by: str | None) -> ReferringFile:
        """The file in a message or the text, with its facts if it can be read."""
        path = needed_by or self.needed_by
        facts = self.file_facts(path) if self.file_facts is not None and path is not None else None
        return ReferringFile(path or "", facts)


def answer(
    read: ReadText, knowledge: Knowledge, needed_by: str | None = None, *, file_facts: FileFacts | None = None
) -> tuple[Subject, ...]:
    """Explain every subject of a text (see `abiscan.diagnosis.explain`)."""
    answered = _answers(read.found, knowledge, needed_by, file_facts)
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
    question = _Question(knowledge, needed_by, file_facts, Demangler(), unfound)
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
    repeated = {key for key, fix in fixes.items() if any(fix != other and fix in other for other in fixes.values())}
    answered = {key: subject for key, subject in answered.items() if key not in repeated}
    # A missing operator is a consequence of the missing symbol, because its library did not load.
    with_symbol = any(subject.kind is SubjectKind.SYMBOL for subject in answered.values())
    return tuple(subject for key, subject in answered.items() if not (with_symbol and key in echoes))


def _names_of(found: SymbolSubject) -> tuple[str, ...]:
    """A symbol as in the text, and without its scope, as a row of the catalogue names it; without arguments, too, if
    those are of a source: demanglers print int64_t as long."""
    if found.msvc and (base := re.match(r"\?(\w{1,128})@", found.text)) is not None:
        return found.text, base[1]
    name, _, arguments = found.text.partition("<")
    if arguments.partition(">")[0].endswith("_t"):
        return found.text, name.rpartition("::")[2]
    return found.text, found.text.rpartition("::")[2]


def _library(found: LibrarySubject, question: _Question) -> Subject:
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


def _version(found: VersionSubject, question: _Question) -> Subject:
    reference = Reference(found.text, found.library, found.text)
    missing = MissingName(reference, question.knowledge, question.referring_file(found.needed_by))
    owner = owner_of_version(found.text, found.library or found.text)
    return _subject(found, causes_of(missing), owner or Owner.OTHER, missing)


def _message(found: FoundMessage, question: _Question) -> Subject:
    text, kind = answer_messages.subject_of(found)
    file = question.referring_file(found.values.get("needed_by"))
    missing = MissingName(Reference(text), question.knowledge, file)
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
        _causes(causes, missing),
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
        _causes(causes, missing),
        needed_by=missing.file.path or None,
        location=found.location,
        message=found.message,
    )


def _causes(candidates: Iterable[Candidate], missing: MissingName) -> tuple[Cause, ...]:
    """The causes of a subject, with commands for the shell of the platform and the program that installs packages."""
    if missing.log.only_wheel:
        candidates = (replace(each, fix=without_build_first(each.fix)) for each in candidates)
    if platform_of(missing) == "win_amd64":
        candidates = (replace(each, fix=for_windows(each.fix, missing.log.python_folder)) for each in candidates)
    if installer := missing.log.installer:
        candidates = (replace(each, fix=for_installer(each.fix, installer)) for each in candidates)
    return tuple(candidate.as_cause() for candidate in candidates)


# --- symbols --------------------------------------------------------------------------------------------------------


def _symbol(found: SymbolSubject, question: _Question) -> Subject | None:
    file = question.referring_file(found.needed_by)
    macos = found.macos or file.path.endswith(".dylib") or "darwin" in file.path
    knowledge, exact = _of_its_platform(found, question.knowledge, macos=macos)
    spelled = exact or spelling.read(found.text, knowledge, macos=macos, cut_off=found.cut_off)
    if spelled is None:
        return None
    name = spelled.names[0]
    reference = Reference(
        name,
        library=found.library,
        version=found.version,
        spelled_as=spelled.shown,
        macos=spelled.macos or macos,
        # GNU and LLVM demanglers do not print `void` for no parameters, Microsoft's does.
        msvc=found.msvc or "(void)" in found.text or classify(found.text.removeprefix("__imp_")) is NameKind.MSVC,
        # Only linkers print names of import libraries.
        link_time=found.by_linker or found.text.startswith("__imp_"),
        before_torch=found.before_torch,
        demangled=spelled.exact and classify(found.text.strip("'\"` ")) is NameKind.C,
        bare=found.message is None and not file.path,
        unfound=question.unfound if file.path else (),
    )
    missing = MissingName(reference, knowledge, file)
    is_mangled = classify(name) in (NameKind.CXX, NameKind.MACHO)
    is_whole = spelled.exact and not (found.cut_off or spelled.guessed) and not (is_mangled and missing.cxx is None)
    is_part = found.message is not None and not is_whole and (spelled.guessed or not missing.exported_in)
    if is_part and knowledge.target_from_source:
        return None  # a part of a name shows less than that torch was built from source
    demangled = question.demangler.demangle(name)
    shown = demangled.text if spelled.shown is None else spelled.shown
    mangled = missing.reference.name if spelled.exact else (found.text if missing.reference.msvc else None)
    notes = list(spelled.notes)
    if demangled.only_llvm:
        unread = "GNU's demangler (c++filt) of this machine cannot read it; llvm-cxxfilt of LLVM 19 can."
        notes.append(f"The name is valid. {unread}")
    elif demangled.neither and not spelled.notes:
        notes.append("No demangler here can read the name.")
    asked = _asked_first(missing) if is_whole else ""
    if missing.log.validity_asked and demangled.only_llvm:
        asked = f"The symbol is valid. {asked}"
    causes = causes_of(missing)
    if spelled.guessed:
        causes = tuple(replace(each, score=min(each.score, _OF_GUESS)) for each in causes)
    # Of a readable name, another mangling may be missing than the one that releases export.
    unsure = reference.demangled and bool(causes) and causes[0].cause is CauseId.TEMPLATE_MANGLING
    is_exact = spelled.exact and not unsure
    decides = missing.is_torch_name and not missing.is_of_other_compiler and not knowledge.from_source
    if knowledge.target is None and decides and not unsure:
        notes.append("The installed torch is unknown: pass --torch VERSION for a definite answer.")
    near = _near(found.text if spelled.given == found.text else name, missing, spelled)
    if near and (missing.cxx is None or not spelled.exact):
        causes, notes = _as_if_typed_well(near[0], missing, causes), []
    if not causes and not near and missing.exported_in is None and not missing.is_torch_name:
        return None
    return Subject(
        found.text,
        SubjectKind.SYMBOL,
        None if unsure else mangled,
        shown,
        demangled.by if is_exact else DemangledBy.NONE,
        missing.owner,
        _exported_in(missing) if is_exact else None,
        _causes(causes, missing),
        history=history_of(missing),
        needed_by=file.path or None,
        location=found.location,
        message=found.message,
        notes=tuple(notes),
        near=near,
        title=f"{asked}{_title_of(causes[0], missing)}" if causes else "",
    )


def _asked_first(missing: MissingName) -> str:
    """What a question about the releases that export a symbol asks, as a sentence; empty for other texts."""
    if missing.exported_in is None or not missing.is_torch_name:
        return ""
    release = missing.log.asked_releases.get("torch") or missing.log.asked_releases.get("pytorch")
    if release:
        exports = "exports" if missing.exported_in.contains(release) else "does not export"
        return f"torch {release} {exports} this symbol. "
    if not missing.log.exporting_release_asked:
        return ""
    releases = missing.exported_in.text()
    return f"torch {releases} exports this symbol. " if releases else "No known torch release exports this symbol. "


def _title_of(cause: Candidate, missing: MissingName) -> str:
    form = cause.form or ("" if missing.is_torch_name else OTHER_LIBRARY)
    return title(cause.cause, _titled(cause, missing), form)


def _titled(cause: Candidate, missing: MissingName) -> TorchBuild | None:
    """The torch of the title: for CUDA on macOS the build for macOS, also if only Linux has the symbol."""
    if missing.reference.macos and cause.cause is CauseId.CUDA_BUILD_REQUIRED:
        return missing.knowledge.for_platform(machines_naming(".dylib")[0]).target
    return missing.knowledge.target


def _exported_in(missing: MissingName) -> ReleaseRanges | None:
    """The releases that export a symbol; none for one of macOS of which only builds for Linux are known."""
    is_known = not missing.macho or system_of(missing.knowledge.machine) is OperatingSystem.MACOS
    return missing.exported_in if is_known or missing.exported_in is None else ReleaseRanges()


def _of_its_platform(
    found: SymbolSubject, knowledge: Knowledge, *, macos: bool
) -> tuple[Knowledge, spelling.Spelled | None]:
    """The builds for the platform of a Windows or macOS symbol and the symbol, if one of them exports it; else the
    given builds and the translated symbol."""
    name = found.text.strip().strip("'\"`").removeprefix("__imp_")
    kind = classify(name)
    machines: tuple[str, ...] = ()
    note = ""
    if kind is NameKind.MSVC:
        machines = machines_naming(".dll")
        note = "A name in MSVC's decoration (Windows); undname or llvm-undname reads it."
    elif kind is NameKind.MACHO or macos:
        machines = machines_naming(".dylib")
        if not name.startswith("_Z"):
            name = name.removeprefix("_")
            note = f"A macOS name: Mach-O puts an underscore before every C and C++ name. Without it: {name}"
    for machine in machines if knowledge.releases is not None else ():
        for_platform = knowledge.for_platform(machine)
        assert for_platform.releases is not None
        if for_platform.releases.history(name, machine) is not None:
            is_macos = machine.startswith("macosx")
            spelled = f"_{name}" if kind is NameKind.MACHO else name
            return for_platform, spelling.Spelled(found.text, (spelled,), notes=(note,) if note else (), macos=is_macos)
        if kind is NameKind.MACHO and _has_other_mangling(name, for_platform):
            notes = (note,) if note else ()
            return for_platform, spelling.Spelled(found.text, (f"_{name}",), notes=notes, macos=True)
        if macos and "::" in name:
            read = spelling.read(name, for_platform, macos=True)
            if read is not None and for_platform.releases.history(read.names[0], machine) is not None:
                return for_platform, replace(read, given=found.text)
        whole = spelling.read(name, for_platform) if kind is NameKind.MACHO else None
        if whole is not None and for_platform.releases.history(whole.names[0], machine) is not None:
            name, cut = f"_{whole.names[0]}", (note, *whole.notes)
            return for_platform, replace(whole, given=found.text, names=(name,), notes=cut, macos=True)
        if whole is not None and whole.shown == name and whole.shown.startswith("_Z"):  # no export begins like it
            names = tuple(f"_{each}" for each in whole.names)
            return for_platform, replace(whole, given=found.text, names=names, notes=(note, *whole.notes), macos=True)
    if machines == machines_naming(".dylib") and knowledge.target is not None and knowledge.target.cuda is not None:
        # Only builds for Linux are known; those for macOS have no CUDA.
        knowledge = replace(knowledge, target=replace(knowledge.target, variant="", cuda=None))
    return knowledge, None


def _has_other_mangling(name: str, knowledge: Knowledge) -> bool:
    """Whether builds export a function of this name without the declarations of template parameters."""
    cxx = parse(name)
    return (
        cxx is not None
        and cxx.declares_parameters
        and any(DifferenceKind.TEMPLATE_MANGLING in form.kinds for form in find_related(name, cxx, knowledge))
    )


def _near(name: str, missing: MissingName, spelled: spelling.Spelled) -> tuple[str, ...]:
    """Similar symbols for one that no build exports; a typing error may make a C++ name unreadable."""
    # Programs make no typing errors.
    typed = not missing.reference.link_time and not missing.file.path and not missing.reference.msvc
    if missing.exported_in or (missing.related and not typed):
        return ()
    if missing.related:
        return near_names.with_one_word_misspelt(name, missing.knowledge) if spelled.exact else ()
    if is_python_name(name):
        # Both widths of characters are names of CPython 2, of which one build is known.
        return () if name.startswith("PyUnicodeUCS") else near_names.near_of_python(name)
    near = near_names.near(name, missing.knowledge) if spelled.exact or classify(name) is NameKind.CXX else ()
    if near or missing.cxx is None or not missing.is_torch_name or not typed:
        return near
    return near_names.near_of_entity((*missing.cxx.scope, missing.cxx.base), missing.shown, missing.knowledge)


def _as_if_typed_well(name: str, missing: MissingName, causes: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Causes of the symbol that an unreadable name is similar to; its own causes if there is none."""
    reference = msgspec.structs.replace(missing.reference, name=name, spelled_as=None, macos=missing.macho, msvc=False)
    meant = MissingName(reference, missing.knowledge, missing.file)
    taken = f"No known build exports this name; read as {name}."
    found = [msgspec.structs.replace(cause, evidence=(taken, *cause.evidence)) for cause in causes_of(meant)]
    return tuple(found) or causes


def history_of(missing: MissingName) -> tuple[str, ...]:
    """The releases that export the symbol, and earlier and later forms of the same entity."""
    if missing.exported_in is None or missing.cxx is None:
        return () if missing.exported_in is None or missing.history is None else (missing.exported_text,)
    lines: list[str] = []
    if missing.reference.spelled_as is not None and missing.reference.spelled_as.startswith("_Z"):
        return ()  # a truncated name does not show which form it is
    lines += [
        f"{spans.text()}: {missing.shown} ({', '.join(names[:2])})" for spans, names in missing.exporters if names
    ]
    arguments = missing.cxx.template_args or ()
    forms = [f for f in missing.related if f.exported_in and _same_arguments(f.parsed.template_args or (), arguments)]
    forms.sort(key=lambda f: versions.order(f.exported_in.first) or ())
    seen: set[str] = set()
    for each in forms:
        line = f"{each.exported_in.text()}: {each.parsed.display[:200]}"
        if line not in seen and len(seen) < _HISTORY:
            seen.add(line)
            lines.append(line)
    return tuple(lines)


def _same_arguments(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return all(x == y for x, y in zip(a, b, strict=False))


_ANSWERS: Final[Mapping[type, Callable[[Any, _Question], Subject | None]]] = {
    SymbolSubject: _symbol,
    LibrarySubject: _library,
    VersionSubject: _version,
    FoundMessage: _message,
}
