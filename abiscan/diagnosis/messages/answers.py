"""The engine behind `abiscan explain`: a text -> every subject in it, each answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from abiscan.diagnosis import missing_library
from abiscan.diagnosis.causes import system_libraries
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.messages import python_errors, spelling
from abiscan.diagnosis.messages.mentions import Complaint, Mention, clean, mentions
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, causes_of, ranked
from abiscan.mangling import Demangler, NameKind, classify
from abiscan.model import versions
from abiscan.model.binding import DemangledBy, Owner
from abiscan.model.cause import CauseId
from abiscan.model.facts import SharedObject
from abiscan.model.subject import Subject, SubjectKind
from abiscan.ownership.names import owner_of_library, owner_of_version

# A text of so few lines may be a symbol by itself, one a line; a longer one is a log, in which names alone say nothing.
_SYMBOL_LINES = 200
_LIBRARY_NAME = re.compile(r"lib[\w+.-]+\.(?:so(?:\.[\w.]+)?|dylib)$|[\w+.-]+\.dll$", re.IGNORECASE)
# A line of nm's or readelf's output: `                 U _ZN3c10...`
_NM_LINE = re.compile(r"^\s+[Uw]\s+(\S+)\s*$")
# Two forms of history that a person can take in.
_HISTORY = 4

FileFacts = Callable[[str], SharedObject | None]
"""Path of a file that a message names -> its facts, if it is there and can be read."""


def explain(
    text: str, knowledge: Knowledge, needed_by: str | None = None, *, file_facts: FileFacts | None = None
) -> tuple[Subject, ...]:
    """As `abiscan.diagnosis.explain` says."""
    text = clean(text)
    found = mentions(text)
    if not found:
        found = _bare(text)
    demangler = Demangler()
    answered: dict[tuple[SubjectKind, str, str | None], Subject] = {}
    echoes: set[tuple[SubjectKind, str, str | None]] = set()
    for mention in found:
        subject = _answer(mention, knowledge, needed_by, file_facts, demangler)
        if subject is None:
            continue
        key = (subject.kind, subject.mangled or subject.text, mention.version)
        answered.setdefault(key, subject)
        if mention.complaint is Complaint.MISSING_OPERATOR and _is_first(subject, CauseId.OP_NOT_REGISTERED):
            echoes.add(key)
    # A missing operator only repeats the missing symbol that kept its library from loading.
    with_symbol = any(subject.kind is SubjectKind.SYMBOL for subject in answered.values())
    return tuple(subject for key, subject in answered.items() if not (with_symbol and key in echoes))


def _is_first(subject: Subject, cause: CauseId) -> bool:
    return bool(subject.causes) and subject.causes[0].cause is cause


def _bare(text: str) -> tuple[Mention, ...]:
    """A text without any message: names, one a line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines or len(lines) > _SYMBOL_LINES:
        return ()
    found: list[Mention] = []
    for line in text.splitlines():
        listed = _NM_LINE.match(line)
        name = listed[1] if listed is not None else line.strip()
        if not name:
            continue
        complaint = Complaint.SYMBOL
        library = None
        if system_libraries.is_symbol_version(name):
            complaint = Complaint.SYMBOL_VERSION
        elif _LIBRARY_NAME.match(name):
            complaint = Complaint.LIBRARY
        elif classify(name) is NameKind.C and not _is_one_name(name):
            continue
        versioned = re.match(r"(\S+), version ([\w.+-]+)$", name)
        version = name if complaint is Complaint.SYMBOL_VERSION else None
        if versioned is not None:
            name, version = versioned[1], versioned[2]
            library = version if ".so" in version else None
        found.append(Mention(complaint, name, len(found), library=library, version=version))
    return tuple(found)


def _is_one_name(text: str) -> bool:
    """A C identifier, or a demangled name; not a sentence."""
    if re.fullmatch(r"[A-Za-z_$.][\w$.@]*(?:, version [\w.+-]+)?", text):
        return True
    return spelling.qualified_name(text) is not None and ("::" in text or "(" in text)


def _answer(
    mention: Mention, knowledge: Knowledge, needed_by: str | None, file_facts: FileFacts | None, demangler: Demangler
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
    )
    match mention.complaint:
        case Complaint.SYMBOL:
            return _symbol(mention, knowledge, file_name, facts, demangler)
        case Complaint.LIBRARY:
            found = ranked(missing_library.causes(mention.text, missing, at_link_time=mention.by_linker))
            return _subject(mention, found, owner_of_library(mention.text), file_name)
        case Complaint.SYMBOL_VERSION:
            owner = owner_of_version(mention.text, mention.library or mention.text)
            return _subject(mention, causes_of(missing), owner or Owner.OTHER, file_name)
        case Complaint.CUDA_OF_EXTENSION | Complaint.CUDA_OF_TOOLKIT:
            return _subject(mention, ranked(python_errors.cuda_versions(mention, missing)), Owner.CUDA, file_name)
        case Complaint.SKIPPED_CALL:
            return _subject(mention, ranked(python_errors.skipped_call(mention)), Owner.SELF)
        case Complaint.MISSING_OPERATOR:
            return _subject(mention, ranked(python_errors.missing_operator(mention, missing)), Owner.SELF)
        case Complaint.PYTHON_NAME:
            found = ranked(python_errors.name_error(mention))
        case Complaint.NO_OVERLOAD:
            found = ranked(python_errors.no_overload(mention))
    # Ordinary errors of Python and of compilers are nobody's.
    return _subject(mention, found, None) if found else None


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
    mention: Mention, knowledge: Knowledge, file_name: str | None, facts: SharedObject | None, demangler: Demangler
) -> Subject | None:
    macos = mention.macos or (file_name or "").endswith(".dylib") or "darwin" in (file_name or "")
    spelled = spelling.read(mention.text, knowledge, macos=macos)
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
        link_time=mention.by_linker,
    )
    demangled = demangler.demangle(name)
    shown = demangled.text if spelled.shown is None else spelled.shown
    mangled = missing.spelled if spelled.exact else (mention.text if classify(mention.text) is NameKind.MSVC else None)
    notes = list(spelled.notes)
    if demangled.only_llvm:
        notes.append("GNU's demangler (c++filt) of this machine cannot read the name; LLVM's can.")
    elif demangled.neither and not spelled.notes:
        notes.append("No demangler here can read the name.")
    if knowledge.target is None and missing.is_torch_name:
        notes.append("No torch is known to compare with: name one (--torch VERSION) for a sharper answer.")
    return Subject(
        mention.text,
        SubjectKind.SYMBOL,
        mangled,
        shown,
        demangled.by if spelled.exact else DemangledBy.NONE,
        missing.owner,
        missing.windows if spelled.exact else None,
        tuple(candidate.as_cause() for candidate in causes_of(missing)),
        history=history_of(missing),
        needed_by=file_name,
        location=mention.location,
        notes=tuple(notes),
    )


def history_of(missing: MissingName) -> tuple[str, ...]:
    """The name's windows, and what the same entity was before and became after."""
    if missing.windows is None or missing.cxx is None:
        return () if missing.windows is None or missing.history is None else (missing.exported_text,)
    lines = []
    if missing.windows:
        lines.append(f"{missing.windows.text()}: {missing.shown} ({', '.join(missing.libraries[:2])})")
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
