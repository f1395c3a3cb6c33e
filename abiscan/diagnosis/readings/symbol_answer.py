"""The answer of `abiscan explain` for a symbol: its name, its releases, similar names and its causes."""

from __future__ import annotations

import operator
from typing import Final

import msgspec
from msgspec.structs import replace

from abiscan.diagnosis.catalogue.cause_catalogue import OTHER_LIBRARY, title
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate
from abiscan.diagnosis.readings import near_names, pasted_names
from abiscan.diagnosis.readings.found_subjects import SymbolSubject
from abiscan.diagnosis.readings.question import Question, final_causes
from abiscan.diagnosis.reference import Reference
from abiscan.diagnosis.related_exports import find_related
from abiscan.diagnosis.symbol_causes import causes_of
from abiscan.mangling import DifferenceKind, NameKind, classify, parse
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.imports import DemangledBy
from abiscan.model.platforms import OperatingSystem, machines_naming, system_of
from abiscan.model.subject import Subject, SubjectKind
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.names import is_python_name

# Maximum number of history lines.
_HISTORY = 4
# Medium confidence at most: another name with this beginning may be the missing one.
_OF_GUESS: Final = 0.79


def answer_symbol(found: SymbolSubject, question: Question) -> Subject | None:
    """The answer for a symbol; None if it is no name of torch, or nothing is known about it."""
    file = question.referring_file(found.needed_by)
    macos = found.macos or file.path.endswith(".dylib") or "darwin" in file.path
    knowledge, exact = _of_its_platform(found, question.knowledge, macos=macos)
    spelled = exact or pasted_names.read(found.text, knowledge, macos=macos, cut_off=found.cut_off)
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
        final_causes(causes, missing),
        history=_history(missing),
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
        exported = missing.exported_in.contains(release)
        is_known = any(f"{each}.".startswith(f"{release}.") for each in missing.known_versions)
        known = "exports" if exported else "does not export" if exported is False and is_known else ""
        return f"torch {release} {known} this symbol. " if known else ""
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
) -> tuple[Knowledge, pasted_names.Spelled | None]:
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
            return for_platform, pasted_names.Spelled(
                found.text, (spelled,), notes=(note,) if note else (), macos=is_macos
            )
        if kind is NameKind.MACHO and _has_other_mangling(name, for_platform):
            notes = (note,) if note else ()
            return for_platform, pasted_names.Spelled(found.text, (f"_{name}",), notes=notes, macos=True)
        if macos and "::" in name:
            read = pasted_names.read(name, for_platform, macos=True)
            if read is not None and for_platform.releases.history(read.names[0], machine) is not None:
                return for_platform, replace(read, given=found.text)
        whole = pasted_names.read(name, for_platform, cut_off=found.cut_off) if kind is NameKind.MACHO else None
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


def _near(name: str, missing: MissingName, spelled: pasted_names.Spelled) -> tuple[str, ...]:
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


def _history(missing: MissingName) -> tuple[str, ...]:
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
    exported = ((form, form.parsed.template_args or ()) for form in missing.related if form.exported_in)
    forms = [form for form, given in exported if all(map(operator.eq, given, arguments))]
    forms.sort(key=lambda f: versions.order(f.exported_in.first) or ())
    seen: set[str] = set()
    for each in forms:
        line = f"{each.exported_in.text()}: {each.parsed.display[:200]}"
        if line not in seen and len(seen) < _HISTORY:
            seen.add(line)
            lines.append(line)
    return tuple(lines)
