"""The engine behind `abiscan explain`: a text -> every subject in it, each answered."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from abiscan.diagnosis.causes import missing_libraries, system_libraries
from abiscan.diagnosis.causes.vendor_libraries import vendor_of, vendor_of_library
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.messages import python_errors, spelling
from abiscan.diagnosis.messages.mentions import Mention, clean, mentions
from abiscan.diagnosis.missing_name import Inquiry
from abiscan.diagnosis.ranking import Candidate, ranked
from abiscan.diagnosis.registry import judge
from abiscan.environment.python_names import is_python_name
from abiscan.mangling import Demangler, NameKind, classify
from abiscan.model import versions
from abiscan.model.binding import DemangledBy, Owner
from abiscan.model.cause import CauseId
from abiscan.model.facts import SharedObject
from abiscan.model.subject import Subject, SubjectKind

# A text of so few lines may be a symbol by itself, one a line; a longer one is a log, in which names alone say nothing.
_SYMBOL_LINES = 200
_LIBRARY_NAME = re.compile(r"lib[\w+.-]+\.(?:so(?:\.[\w.]+)?|dylib)$|[\w+.-]+\.dll$", re.IGNORECASE)
# A line of nm's or readelf's output: `                 U _ZN3c10...`
_NM_LINE = re.compile(r"^\s+[Uw]\s+(\S+)\s*$")
# Two forms of history that a person can take in.
_HISTORY = 4
_ROCM_OR_CUDA = {True: Owner.CUDA, False: Owner.HIP}

FileFacts = Callable[[str], SharedObject | None]
"""Path of a file that a message names -> its facts, if it is there and can be read."""


def explain(
    text: str, knowledge: Knowledge, needed_by: str | None = None, *, file_facts: FileFacts | None = None
) -> tuple[Subject, ...]:
    """Answer every subject that a text mentions.

    Args:
        text: a symbol (mangled or demangled), a library's name, a symbol version, an error message, or a whole log.
        knowledge: what is known of the target, the releases and the machine.
        needed_by: the file whose error it was; it counts where the text names none.
        file_facts: reads the file that a message names; None to go by its name alone.

    Returns:
        Subjects in the order of the text, each once; empty where the text mentions none.
    """
    text = clean(text)
    found = mentions(text)
    if not found:
        found = _bare(text)
    demangler = Demangler()
    answered: dict[tuple[SubjectKind, str, str | None], Subject] = {}
    for mention in found:
        subject = _answer(mention, knowledge, needed_by, file_facts, demangler)
        if subject is not None:
            answered.setdefault((subject.kind, subject.mangled or subject.text, mention.version), subject)
    return _without_echoes(tuple(answered.values()))


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
        kind = SubjectKind.SYMBOL
        library = None
        if system_libraries.is_symbol_version(name):
            kind = SubjectKind.VERSION
        elif _LIBRARY_NAME.match(name):
            kind = SubjectKind.LIBRARY
        elif classify(name) is NameKind.C and not _is_one_name(name):
            continue
        versioned = re.match(r"(\S+), version ([\w.+-]+)$", name)
        version = name if kind is SubjectKind.VERSION else None
        if versioned is not None:
            name, version = versioned[1], versioned[2]
            library = version if ".so" in version else None
        found.append(Mention(kind, name, len(found), library=library, version=version))
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
    match mention.kind:
        case SubjectKind.SYMBOL:
            return _symbol(mention, knowledge, file_name, facts, demangler)
        case SubjectKind.LIBRARY:
            inquiry = Inquiry(mention.text, knowledge, file_name=file_name, file=facts)
            found = ranked(missing_libraries.causes(mention.text, inquiry, at_link_time="link" in mention.detail))
            return _subject(mention, found, owner=_library_owner(mention.text), needed_by=file_name)
        case SubjectKind.VERSION:
            inquiry = Inquiry(
                mention.text,
                knowledge,
                library=mention.library,
                version=mention.version,
                file_name=file_name,
                file=facts,
            )
            if mention.library == "CUDA":
                return _subject(
                    mention,
                    ranked(python_errors.cuda_versions(mention, inquiry)),
                    owner=Owner.CUDA,
                    needed_by=file_name,
                )
            found = judge(inquiry)
            owner = Owner.LIBC if mention.text.startswith("GLIBC_") else Owner.CXX
            if vendor_of_library(mention.text) is not None:
                owner = Owner.CUDA
            return _subject(mention, found, owner=owner, needed_by=file_name)
        case SubjectKind.PYTHON_NAME:
            found = ranked(python_errors.name_error(mention))
            return _subject(mention, found, owner=None) if found else None
        case SubjectKind.DYNAMO:
            if mention.detail == "operator":
                found = ranked(
                    python_errors.missing_operator(mention, Inquiry(mention.text, knowledge, file_name=file_name))
                )
            else:
                found = ranked(python_errors.skipped_call(mention))
            return _subject(mention, found, owner=Owner.SELF)
        case SubjectKind.COMPILE_ERROR:
            found = ranked(python_errors.no_overload(mention))
            return _subject(mention, found, owner=None) if found else None


def _subject(
    mention: Mention, found: Iterable[Candidate], *, owner: Owner | None, needed_by: str | None = None
) -> Subject:
    return Subject(
        mention.text,
        mention.kind,
        None,
        None,
        DemangledBy.NONE,
        owner,
        None,
        tuple(candidate.told() for candidate in found),
        needed_by=needed_by,
        location=mention.location,
    )


# --- symbols --------------------------------------------------------------------------------------------------------


def _symbol(
    mention: Mention, knowledge: Knowledge, file_name: str | None, facts: SharedObject | None, demangler: Demangler
) -> Subject | None:
    macos = "macos" in mention.detail or (file_name or "").endswith(".dylib") or "darwin" in (file_name or "")
    spelled = spelling.read(mention.text, knowledge, macos=macos)
    if spelled is None:
        return None
    name = spelled.names[0]
    inquiry = Inquiry(
        name,
        knowledge,
        library=mention.library,
        version=mention.version,
        file_name=file_name,
        file=facts,
        spelled_as=spelled.shown,
        macos=spelled.macos or macos,
        link_time="link" in mention.detail,
    )
    demangled = demangler.demangle(name)
    shown = demangled.text if spelled.shown is None else spelled.shown
    mangled = inquiry.spelled if spelled.exact else (mention.text if classify(mention.text) is NameKind.MSVC else None)
    notes = list(spelled.notes)
    if demangled.only_llvm:
        notes.append("GNU's demangler (c++filt) of this machine cannot read the name; LLVM's can.")
    elif demangled.neither and not spelled.notes:
        notes.append("No demangler here can read the name.")
    if knowledge.target is None and inquiry.is_torch_name:
        notes.append("No torch is known to compare with: name one (--torch VERSION) for a sharper answer.")
    return Subject(
        mention.text,
        SubjectKind.SYMBOL,
        mangled,
        shown,
        demangled.by if spelled.exact else DemangledBy.NONE,
        owner_of(inquiry),
        inquiry.windows if spelled.exact else None,
        tuple(candidate.told() for candidate in judge(inquiry)),
        history=history_of(inquiry),
        needed_by=file_name,
        location=mention.location,
        notes=tuple(notes),
    )


def owner_of(inquiry: Inquiry) -> Owner:
    """Whose name it is, as far as the name and the index tell."""
    if inquiry.bound_owner is not None:
        return inquiry.bound_owner
    if inquiry.library is not None and (vendor := vendor_of_library(inquiry.library)) is not None:
        return _ROCM_OR_CUDA[vendor.cuda]
    if inquiry.is_torch_name:
        return Owner.TORCH
    if is_python_name(inquiry.name):
        return Owner.PYTHON
    if inquiry.cxx is not None:
        if inquiry.namespace in ("std", "__gnu_cxx", "__cxxabiv1"):
            return Owner.CXX
        return Owner.SELF if inquiry.namespace is None else Owner.OTHER
    found = vendor_of(inquiry.name)
    if found is None:
        return Owner.OTHER
    if found.cuda:
        return Owner.CUDA
    if found.library in ("omp", "gomp"):
        return Owner.OPENMP
    if found.library in ("dl", "pthread", "rt"):
        return Owner.LIBC
    return Owner.HIP if found.product.startswith(("hip", "roc", "HIP", "ROC", "MIOpen", "the HIP")) else Owner.OTHER


def history_of(inquiry: Inquiry) -> tuple[str, ...]:
    """The name's windows, and what the same entity was before and became after."""
    if inquiry.windows is None or inquiry.cxx is None:
        return () if inquiry.windows is None or inquiry.history is None else (inquiry.exported_text,)
    lines = []
    if inquiry.windows:
        lines.append(f"{versions.text(inquiry.windows)}: {inquiry.shown} ({', '.join(inquiry.libraries[:2])})")
    arguments = inquiry.cxx.template_args or ()
    kin = [k for k in inquiry.kin if k.windows and _same_arguments(k.parsed.template_args or (), arguments)]
    kin.sort(key=lambda k: versions.order(k.windows[0][0]) or (0, 0, 0, 0, 0))
    seen: set[str] = set()
    for each in kin:
        line = f"{versions.text(each.windows)}: {each.parsed.display[:200]}"
        if line not in seen and len(seen) < _HISTORY:
            seen.add(line)
            lines.append(line)
    return tuple(lines)


def _same_arguments(a: tuple[str, ...], b: tuple[str, ...]) -> bool:
    return all(x == y for x, y in zip(a, b, strict=False))


def _library_owner(name: str) -> Owner:
    if name.startswith(("libtorch", "libc10", "libcaffe2", "libshm")):
        return Owner.TORCH
    if name.startswith("libpython"):
        return Owner.PYTHON
    vendor = vendor_of_library(name)
    if vendor is not None and vendor.cuda:
        return Owner.CUDA
    return Owner.OTHER


def _without_echoes(subjects: tuple[Subject, ...]) -> tuple[Subject, ...]:
    """Drop what only repeats another subject: a missing operator beside the missing symbol that kept its library from
    loading."""
    if any(s.kind is SubjectKind.SYMBOL for s in subjects):
        return tuple(
            s
            for s in subjects
            if s.kind is not SubjectKind.DYNAMO
            or s.causes[:1] == ()
            or s.causes[0].cause is not CauseId.OP_NOT_REGISTERED
            or "::" not in s.text
        )
    return subjects
