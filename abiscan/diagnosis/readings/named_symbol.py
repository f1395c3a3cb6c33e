"""The symbol that a text names: of which platform, as which export, and how it is referred to."""

from __future__ import annotations

from msgspec import Struct
from msgspec.structs import replace

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.readings import pasted_names
from abiscan.diagnosis.readings.found_subjects import SymbolSubject
from abiscan.diagnosis.readings.question import Question
from abiscan.diagnosis.reference import Reference
from abiscan.diagnosis.related_exports import find_related
from abiscan.mangling import DifferenceKind, NameKind, classify, parse
from abiscan.model.platforms import machines_naming


class NamedSymbol(Struct, frozen=True):
    """A symbol of a text.

    Attributes:
        missing: the symbol, with the knowledge of its platform.
        spelled: what its text means.
        is_whole: the text has the whole name, in a valid form.
    """

    missing: MissingName
    spelled: pasted_names.Spelled
    is_whole: bool


def named_symbol(found: SymbolSubject, question: Question) -> NamedSymbol | None:
    """The symbol; None if the text is no name, or a part of one that shows nothing."""
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
        spelled_as=spelled.shown or "",
        macos=spelled.macos or macos,
        # GNU and LLVM demanglers do not print `void` for no parameters, Microsoft's does.
        msvc=found.msvc or "(void)" in found.text or classify(found.text.removeprefix("__imp_")) is NameKind.MSVC,
        # Only linkers print names of import libraries.
        link_time=found.by_linker or found.text.startswith("__imp_"),
        before_torch=found.before_torch,
        by_python=found.by_python,
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
    return NamedSymbol(missing, spelled, is_whole)


class _BareName(Struct, frozen=True):
    """A name without what its platform adds.

    Attributes:
        note: on what the platform adds; empty if it adds nothing.
        machines: the platform, as in the release index; empty for Linux.
        is_macho: it has the underscore of Mach-O.
    """

    name: str
    note: str = ""
    machines: tuple[str, ...] = ()
    is_macho: bool = False


def _bare_name(text: str, *, macos: bool) -> _BareName:
    name = text.strip().strip("'\"`").removeprefix("__imp_")
    kind = classify(name)
    if kind is NameKind.MSVC:
        note = "A name in MSVC's decoration (Windows); undname or llvm-undname reads it."
        return _BareName(name, note, machines_naming(".dll"))
    is_macho = kind is NameKind.MACHO
    if not is_macho and not macos:
        return _BareName(name)
    note = ""
    if not name.startswith("_Z"):
        name = name.removeprefix("_")
        note = f"A macOS name: Mach-O puts an underscore before every C and C++ name. Without it: {name}"
    return _BareName(name, note, machines_naming(".dylib"), is_macho)


def _of_its_platform(
    found: SymbolSubject, knowledge: Knowledge, *, macos: bool
) -> tuple[Knowledge, pasted_names.Spelled | None]:
    """The builds for the platform of a Windows or macOS symbol and the symbol, if one of them exports it; else the
    given builds and the translated symbol."""
    bare = _bare_name(found.text, macos=macos)
    for machine in bare.machines if knowledge.releases is not None else ():
        for_platform = knowledge.for_platform(machine)
        spelled = _spelled_on(machine, bare, found, for_platform, macos=macos)
        if spelled is not None:
            return for_platform, spelled
    is_macos = bare.machines == machines_naming(".dylib")
    if is_macos and knowledge.target is not None and knowledge.target.cuda is not None:
        # Only builds for Linux are known; those for macOS have no CUDA.
        knowledge = replace(knowledge, target=replace(knowledge.target, variant="", cuda=None))
    return knowledge, None


def _spelled_on(
    machine: str, bare: _BareName, found: SymbolSubject, knowledge: Knowledge, *, macos: bool
) -> pasted_names.Spelled | None:
    """The symbol as builds for a machine export it; None if none does."""
    assert knowledge.releases is not None
    history = knowledge.releases.history
    name, notes = bare.name, (bare.note,) if bare.note else ()
    if history(name, machine) is not None:
        spelled = f"_{name}" if bare.is_macho else name
        return pasted_names.Spelled(found.text, (spelled,), notes=notes, macos=machine.startswith("macosx"))
    if bare.is_macho and _has_other_mangling(name, knowledge):
        return pasted_names.Spelled(found.text, (f"_{name}",), notes=notes, macos=True)
    if macos and "::" in name:
        read = pasted_names.read(name, knowledge, macos=True)
        if read is not None and history(read.names[0], machine) is not None:
            return replace(read, given=found.text)
    whole = pasted_names.read(name, knowledge, cut_off=found.cut_off) if bare.is_macho else None
    if whole is None:
        return None
    if history(whole.names[0], machine) is not None:
        names = whole.names[:1]
    elif whole.shown == name and name.startswith("_Z"):  # no export begins like it
        names = whole.names
    else:
        return None
    names = tuple(f"_{each}" for each in names)
    return replace(whole, given=found.text, names=names, notes=(bare.note, *whole.notes), macos=True)


def _has_other_mangling(name: str, knowledge: Knowledge) -> bool:
    """Whether builds export a function of this name without the declarations of template parameters."""
    cxx = parse(name)
    return (
        cxx is not None
        and cxx.declares_parameters
        and any(DifferenceKind.TEMPLATE_MANGLING in form.kinds for form in find_related(name, cxx, knowledge))
    )
