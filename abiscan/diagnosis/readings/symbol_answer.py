"""The answer of `abiscan explain` for a symbol: its name, its releases, similar names and its causes."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, Final

from msgspec.structs import replace

from abiscan.diagnosis.catalogue.cause_catalogue import OTHER_LIBRARY, title
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate
from abiscan.diagnosis.readings import near_names
from abiscan.diagnosis.readings.found_subjects import SymbolSubject
from abiscan.diagnosis.readings.named_symbol import NamedSymbol, named_symbol
from abiscan.diagnosis.readings.question import Question, final_causes
from abiscan.diagnosis.symbol_causes import causes_of
from abiscan.mangling import NameKind, classify
from abiscan.mangling.demangle import Demangled
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.imports import DemangledBy
from abiscan.model.platforms import OperatingSystem, machines_naming, system_of
from abiscan.model.subject import Subject, SubjectKind
from abiscan.model.target import TorchBuild
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.cuda_exports import names_alike
from abiscan.ownership.names import is_python_name

# Maximum number of history lines.
_HISTORY = 4
# Medium confidence at most: another name with this beginning may be the missing one. Low, if it has other causes.
_OF_GUESS: Final = 0.79
_OF_ONE_NAME: Final = 0.49
# About so many other names with a truncated name's beginning are compared.
_OTHERS: Final = 8


def answer_symbol(found: SymbolSubject, question: Question) -> Subject | None:
    """The answer for a symbol; None if it is no name of torch, or nothing is known about it."""
    named = named_symbol(found, question)
    if named is None:
        return None
    missing, spelled = named.missing, named.spelled
    demangled = question.demangler.demangle(missing.reference.name)
    causes = _own_causes(named)
    # Of a readable name, another mangling may be missing than the one that releases export.
    unsure = missing.reference.demangled and bool(causes) and causes[0].cause is CauseId.TEMPLATE_MANGLING
    notes = tuple(_notes(named, demangled, unsure=unsure))
    near = _near(found, named)
    if near and (missing.cxx is None or not spelled.exact):
        causes, notes = _as_if_typed_well(near[0], missing, causes), ()
    if not causes and not near and missing.exported_in is None and not missing.is_torch_name:
        return None
    is_exact = spelled.exact and not unsure
    mangled = missing.reference.name if spelled.exact else found.text if missing.reference.msvc else None
    return Subject(
        found.text,
        SubjectKind.SYMBOL,
        None if unsure else mangled,
        demangled.text if spelled.shown is None else spelled.shown,
        demangled.by if is_exact else DemangledBy.NONE,
        missing.owner,
        _exported_in(missing) if is_exact else None,
        final_causes(causes, missing),
        history=_history(missing),
        needed_by=missing.file.path or None,
        location=found.location,
        message=found.message,
        notes=notes,
        near=near,
        title=f"{_asked_first(named, demangled)}{_title_of(causes[0], missing)}" if causes else "",
    )


def _own_causes(named: NamedSymbol) -> tuple[Candidate, ...]:
    causes = causes_of(named.missing)
    if not named.spelled.guessed:
        return causes
    missing = named.missing
    names = named.spelled.others
    others = [
        {cause.cause: cause.score for cause in causes_of(_with_name(missing, each))}
        for each in names[:: max(1, len(names) // _OTHERS)]
    ]
    capped = (
        replace(each, score=min(each.score, _OF_GUESS if _is_shared(each, others) else _OF_ONE_NAME)) for each in causes
    )
    return tuple(sorted(capped, key=operator.attrgetter("score"), reverse=True))


def _with_name(missing: MissingName, name: str, **fields: Any) -> MissingName:
    """The same for another name."""
    return MissingName(replace(missing.reference, name=name, **fields), missing.knowledge, missing.file)


def _is_shared(cause: Candidate, others: list[dict[CauseId, float]]) -> bool:
    """Whether the other names have the cause, too, with more than low confidence."""
    return all(each.get(cause.cause, 0.0) > _OF_ONE_NAME for each in others)


def _notes(named: NamedSymbol, demangled: Demangled, *, unsure: bool) -> Iterator[str]:
    """Notes on the name.

    Args:
        unsure: another mangling of it may be missing.
    """
    missing, spelled = named.missing, named.spelled
    yield from spelled.notes
    if demangled.only_llvm:
        unread = "GNU's demangler (c++filt) of this machine cannot read it; llvm-cxxfilt of LLVM 19 can."
        yield f"The name is valid. {unread}"
    elif demangled.neither and not spelled.notes:
        yield "No demangler here can read the name."
    decides = missing.is_torch_name and not missing.is_of_other_compiler and not missing.knowledge.from_source
    if missing.target is None and decides and not unsure:
        yield "The installed torch is unknown: pass --torch VERSION for a definite answer."


def _asked_first(named: NamedSymbol, demangled: Demangled) -> str:
    """The answer to a question about a symbol, as sentences before the title; empty for other texts."""
    missing = named.missing
    valid = "The symbol is valid. " if missing.log.validity_asked and demangled.only_llvm else ""
    return f"{valid}{_exporting_release(missing) if named.is_whole else ''}"


def _exporting_release(missing: MissingName) -> str:
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


def _near(found: SymbolSubject, named: NamedSymbol) -> tuple[str, ...]:
    """Similar symbols for one that no build exports; a typing error may make a C++ name unreadable."""
    missing, spelled = named.missing, named.spelled
    name = found.text if spelled.given == found.text else missing.reference.name
    # Programs make no typing errors.
    typed = not missing.reference.link_time and not missing.file.path and not missing.reference.msvc
    if missing.exported_in or (missing.related and not typed):
        return ()
    if missing.related:
        return near_names.with_one_word_misspelt(name, missing.knowledge) if spelled.exact else ()
    if is_python_name(name):
        # Both widths of characters are names of CPython 2, of which one build is known.
        return () if name.startswith("PyUnicodeUCS") else near_names.near_of_python(name)
    if typed and name.islower() and (alike := names_alike(name)):
        return tuple(alike)
    near = near_names.near(name, missing.knowledge) if spelled.exact or classify(name) is NameKind.CXX else ()
    if near or missing.cxx is None or not missing.is_torch_name or not typed:
        return near
    return near_names.near_of_entity((*missing.cxx.scope, missing.cxx.base), missing.shown, missing.knowledge)


def _as_if_typed_well(name: str, missing: MissingName, causes: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """Causes of the symbol that an unreadable name is similar to; its own causes if there is none."""
    meant = _with_name(missing, name, spelled_as="", macos=missing.macho, msvc=False)
    taken = f"No known build exports this name; read as {name}."
    found = [replace(cause, evidence=(taken, *cause.evidence)) for cause in causes_of(meant)]
    return tuple(found) or causes


def _history(missing: MissingName) -> tuple[str, ...]:
    """The releases that export the symbol, and earlier and later forms of the same entity."""
    if missing.exported_in is None or missing.cxx is None:
        return () if missing.exported_in is None or missing.history is None else (missing.exported_text,)
    lines: list[str] = []
    if missing.reference.spelled_as.startswith("_Z"):
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
