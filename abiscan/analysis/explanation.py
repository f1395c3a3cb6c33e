"""Explanation of a text: its subjects with their causes, for the target and the machine that the text is from."""

from __future__ import annotations

import os
import re

from msgspec import Struct
from msgspec.structs import replace

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.named_python_files import with_python_files
from abiscan.analysis.scan_options import ScanOptions
from abiscan.analysis.text_target import is_installed, knowledge_for, with_named_torch, without_torch
from abiscan.binary import open_binary
from abiscan.diagnosis.catalogue.load_messages import messages_about_files
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.readings.answer_text import answer
from abiscan.diagnosis.readings.read_text import ReadText, read_present, read_text
from abiscan.diagnosis.text.gpu_vendors import AMD, DCU
from abiscan.diagnosis.text.text_facts import is_shown
from abiscan.errors import UnreadableFile
from abiscan.model.facts import SharedObject
from abiscan.model.python_version import PythonVersion
from abiscan.model.subject import Subject, SubjectKind
from abiscan.model.target import TorchBuild

# Characters of a text that its question may be in.
_QUESTION = 4_096
# Paths that exist on every machine, such as /lib/x86_64-linux-gnu/libc.so.6, or to which a toolkit is installed by
# default, do not show that the error is from this one.
_ANY_MACHINE = re.compile(
    r"/(?:(?:usr/)?(?:s?bin|lib|lib32|lib64|libx32)|usr/local/cuda[\d.-]*|opt/(?:cuda|rocm)[\d.-]*)/(?!.*-packages/)"
)
_WINDOWS_LIBRARY = r"(?i)\.(?:dll|pyd)\b"
# Answers about what no release of torch decides.
_OF_NO_RELEASE = frozenset((SubjectKind.COMPILE_ERROR, SubjectKind.DYNAMO))
# Nothing is checked against exports.
_OF_MESSAGES = frozenset((SubjectKind.RUNTIME_ERROR, SubjectKind.VERSION, SubjectKind.PYTHON_NAME))
_USER_SITE = (
    "torch is loaded from the user site ({folder}), another package from an environment: two installations. Use those "
    "of the environment alone: {command}"
)
_FOR_POSIX = {"folder": "~/.local", "command": "export PYTHONNOUSERSITE=1; pip list"}
_FOR_WINDOWS = {"folder": "%APPDATA%\\Python", "command": 'set "PYTHONNOUSERSITE=1" && pip list'}


class Explanation(Struct, frozen=True):
    """What a text is about.

    Attributes:
        subjects: in the order of the text.
        install: if there are none, how to install the only package that the text names, for its torch: `To install NAME
            for torch 2.6.0:` and lines of commands, or how to check the installed one, if the text retells a failure;
            empty if the text names no known package, or several.
    """

    subjects: tuple[Subject, ...]
    install: str = ""


def explain_text(text: str, options: ScanOptions, *, needed_by: str | None = None) -> Explanation:
    """Explain every subject of an error message or a log.

    The torch is that of `--torch`; else the one in the text; else the installed one, if the error is from this machine
    (`--python` is given, or the text names a file that exists here) or if the text is a name that the installed torch
    does not export. Other facts about this machine count only if the error is from here.

    Args:
        text: a symbol, an error message, or a whole log.
        needed_by: file name of the shared object with the error, if the text does not contain it.

    Raises:
        UnknownBuild: an unknown `--torch`.
    """
    if re.search(_WINDOWS_LIBRARY, text) and (listed := _listed_imports(text, options)) is not None:
        return Explanation((listed,))
    present = read_present(text)
    if present is not None and (explained := _explained(with_python_files(present), text, options, needed_by)).subjects:
        return explained
    return _explained(with_python_files(read_text(text)), text, options, needed_by)


def _explained(read: ReadText, text: str, options: ScanOptions, needed_by: str | None) -> Explanation:
    stated = read.facts.torch
    read = with_named_torch(read, options)
    here = options.python_named or any(os.path.exists(path) for path in read.paths if not _ANY_MACHINE.match(path))
    knowledge = knowledge_for(options, read, here)
    subjects = _subjects(read, knowledge, options, needed_by, here=here)
    if stated is not None and read.facts.torch is None and knowledge.target is not None:
        used = f"torch {knowledge.target.version} of --python is used, not torch {stated}, which the text names."
        is_other = stated.partition("+")[0] != knowledge.target.version
        subjects = tuple(replace(each, notes=(*each.notes, *([used] if is_other else []))) for each in subjects)
    if read.facts.gpu in (AMD, DCU) and options.python_named and knowledge.target is not None and knowledge.target.cuda:
        note = f"torch {knowledge.target.version} of --python is for CUDA {knowledge.target.cuda}; the text is of ROCm."
        subjects = tuple(replace(each, notes=(*each.notes, note)) for each in subjects)
    if read.facts.python is not None:
        subjects = tuple(_with_python_note(each, PythonVersion(*read.facts.python)) for each in subjects)
    # A word alone is the name of something, and not a report.
    if subjects or read.is_bare or is_shown("question_beside_installation", text[:_QUESTION]):
        return Explanation(subjects)
    from abiscan.diagnosis.fixes.package_commands import check_named, install_named

    checked = check_named(knowledge) if is_shown("trouble_without_installation", text[:_QUESTION]) else ()
    return Explanation((), "\n".join(checked or install_named(knowledge)))


def _subjects(
    read: ReadText, knowledge: Knowledge, options: ScanOptions, needed_by: str | None, *, here: bool
) -> tuple[Subject, ...]:
    subjects = answer(read, knowledge, needed_by, file_facts=_facts_of)
    subjects = tuple(_with_file(subject, needed_by, read, options) for subject in subjects)
    subjects = _with_verified_advice(subjects, options)
    if read.facts.mixes_user_site:
        note = _USER_SITE.format_map(_FOR_WINDOWS if read.facts.platform == "win_amd64" else _FOR_POSIX)
        subjects = tuple(replace(subject, notes=(*subject.notes, note)) for subject in subjects)
    if options.torch is not None or knowledge.target is None:
        return subjects
    if read.facts.torch is not None and knowledge.is_no_release(read.facts.torch):
        return subjects
    if read.facts.torch is not None:
        note = f"torch {read.facts.torch}, which the text names (pass --torch to choose another)."
        of_message, checked = f"Commands are for {note}", f"Checked against {note}"
        return tuple(
            subject
            if subject.kind in _OF_NO_RELEASE
            else replace(subject, notes=(*subject.notes, of_message if subject.kind in _OF_MESSAGES else checked))
            for subject in subjects
        )
    if here:
        return subjects
    # For a bare name, the installed torch counts if it does not export the name; else another torch lacked it.
    elsewhere = answer(read, without_torch(knowledge), needed_by)
    chosen = []
    for subject, other in zip(subjects, elsewhere, strict=False):
        exported = _is_exported(subject, knowledge)
        if exported is None:
            chosen.append(other)
        else:
            chosen.append(_noted(other, knowledge.target) if exported else subject)
    return tuple(chosen)


def _with_python_note(subject: Subject, python: PythonVersion) -> Subject:
    from abiscan.diagnosis.fixes.torches_for_python import without_wheels

    notes = filter(None, (without_wheels(cause.fix, python) for cause in subject.causes))
    note = next(notes, None)
    return subject if note is None else replace(subject, notes=(*subject.notes, note))


def _listed_imports(text: str, options: ScanOptions) -> Subject | None:
    from abiscan.analysis.import_listing import explain_imports, imports_in

    return explain_imports(text, AnalysisContext(options).index) if imports_in(text) else None


def _with_file(subject: Subject, needed_by: str | None, read: ReadText, options: ScanOptions) -> Subject:
    """The subject with what the file itself shows, if the message names no symbol and the file is here."""
    if subject.message not in messages_about_files():
        return subject
    named = [path for path in read.paths if path.lower().endswith((".pyd", ".dll", ".so"))]
    path = next((each for each in (needed_by, *named) if each is not None and os.path.exists(each)), None)
    if path is None:
        return subject
    from abiscan.analysis.named_file_scan import with_file

    torch = options.torch if options.torch is not None else read.facts.torch
    if torch is not None and options.torch is None and is_installed(AnalysisContext(options), torch):
        torch = None
    return with_file(subject, path, replace(options, torch=torch))


def _with_verified_advice(subjects: tuple[Subject, ...], options: ScanOptions) -> tuple[Subject, ...]:
    is_file = options.settings.files.is_file
    paths = [os.path.join(options.settings.cwd, subject.needed_by or "") for subject in subjects]
    paths = [path if is_file(path) and not _ANY_MACHINE.match(path) else "" for path in paths]
    if not any(paths):
        return subjects
    from abiscan.analysis.verified_advice import with_verified_advice

    return with_verified_advice(subjects, paths, options)


def _is_exported(subject: Subject, knowledge: Knowledge) -> bool | None:
    """Whether the target exports the subject; None if it is not a symbol or unknown."""
    if subject.mangled is None or knowledge.exports is None:
        return None
    return knowledge.exports.library_of(subject.mangled) is not None


def _noted(subject: Subject, installed: TorchBuild) -> Subject:
    here = f"torch {installed.version} ({installed.variant})"
    note = f"{here}, which is installed here, exports it: pass --torch installed to check against it."
    return replace(subject, notes=(*subject.notes, note))


def _facts_of(path: str) -> SharedObject | None:
    """Facts of a file that a message names, if it exists and is a shared object."""
    try:
        return open_binary(path).facts()
    except (UnreadableFile, OSError, ValueError):
        return None
