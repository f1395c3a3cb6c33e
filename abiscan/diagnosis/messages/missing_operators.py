"""Operators that nobody registered: torch's own, those of a package that is released with torch, anybody's."""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.releases import companions

_OF_TORCH = ("aten::", "prim::", "prims::")


def is_echo(mention: Mention) -> bool:
    """Whether a missing symbol in the same text would be why: an operator of a library, which then did not load."""
    return mention.complaint in (Complaint.MISSING_OPERATOR, Complaint.NO_OPERATORS) and not mention.text.startswith(
        _OF_TORCH
    )


def missing_operator(mention: Mention, missing: MissingName) -> Candidates:
    """`operator x::y does not exist`; torchvision's `Couldn't load custom C++ ops`"""
    if mention.complaint is Complaint.NO_OPERATORS:
        text = f"{mention.text} says that the library of its operators did not load."
        yield from _of_companion(mention.text, text, missing)
        return
    namespace, _, name = mention.text.partition("::")
    if mention.text.startswith(_OF_TORCH):
        yield from _of_torch(mention)
        return
    package = companions.registers(namespace)
    if package is None:
        yield from _of_anybody(mention, missing, namespace, name)
        return
    text = f"Nothing has registered {mention.text}: the library of {package}, which does, did not load."
    yield from _of_companion(package, text, missing)
    yield Candidate(
        CauseId.OP_NOT_REGISTERED,
        0.6 if mention.context else 0.35,
        (f"Nothing has registered {mention.text}; importing {package} does, where its library loads.",),
        f"import {package}  # before a model that uses {mention.text} is loaded\n"
        f"In a program without Python: link {package}'s own C++ library.",
    )


def _of_torch(mention: Mention) -> Candidates:
    evidence = (f"{mention.text} is an operator of torch itself, and the torch that runs has none of that name.",)
    fix = "Install the torch that the model or the extension was exported with: it names the operator."
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.6, evidence, fix)
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.55, evidence, fix)


# --- torchvision, torchaudio ----------------------------------------------------------------------------------------


def _of_companion(package: str, first: str, missing: MissingName) -> Candidates:
    """Each release of the package is built for one torch; beside another its library does not load."""
    target = missing.target
    version = None if missing.environment is None else missing.environment.packages.get(package)
    fits = None if version is None or target is None else companions.compared(package, version, target.version)
    fix = _companion_fix(package, missing)
    if version is not None and fits:
        older = fits < 0
        evidence = (
            f"{package} {version} is built for torch {companions.built_for(package, version)}, and torch "
            f"{_torch(missing)} is there.",
            first,
        )
        cause = CauseId.BUILT_FOR_OLDER_TORCH if older else CauseId.BUILT_FOR_NEWER_TORCH
        yield Candidate(cause, 0.93, evidence, fix)
        return
    if version is not None and fits == 0:
        yield from _same_release(package, version, first, missing, fix)
        return
    known = _pair_known(package, version, missing)
    evidence = (first, f"Each release of {package} is built for one release of torch{known}.")
    yield Candidate(
        CauseId.BUILT_FOR_OLDER_TORCH,
        0.7,
        (*evidence, f"Most often torch was upgraded, and {package} was not: pip list tells."),
        fix,
    )
    yield Candidate(
        CauseId.BUILT_FOR_NEWER_TORCH, 0.6, (*evidence, f"Or {package} alone was upgraded: pip list tells."), fix
    )
    yield Candidate(
        CauseId.DISTRIBUTION_VARIANT,
        0.55,
        (*evidence, "Or the releases agree, and one is a build for CPU or for another CUDA than the other."),
        fix,
    )


def _same_release(package: str, version: str, first: str, missing: MissingName, fix: str) -> Candidates:
    """The releases fit: what differs is the build, or a library that it needs is not there."""
    label, here = version.partition("+")[2], _torch(missing).partition("+")[2]
    agree = f"{package} {version} is the release for torch {_torch(missing)}."
    named = label.startswith(("cpu", "cu", "rocm")) and here.startswith(("cpu", "cu", "rocm"))
    if named and label != here:
        evidence = (f"{package} {version} and torch {_torch(missing)} are builds of different variants.", first)
        if here == "cpu":
            yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.9, evidence, fix)
        yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.85, evidence, fix)
        return
    look = f"abiscan {package}  # in that environment: which of its libraries do not load, and why\n{fix}"
    yield Candidate(
        CauseId.DISTRIBUTION_VARIANT,
        0.6,
        (
            first,
            f"{agree} Then one of them is another build: for CPU, for another CUDA, of conda, or compiled here.",
        ),
        look,
    )
    yield Candidate(
        CauseId.LIBRARY_MISSING, 0.5, (first, f"{agree} Then a library that {package}'s needs may be missing."), look
    )


def _torch(missing: MissingName) -> str:
    """The torch as the text or its metadata names it, with a label only where that has one."""
    assert missing.target is not None
    said = None if missing.environment is None else missing.environment.packages.get("torch")
    return said if said is not None and said.startswith(missing.target.version) else missing.target.version


def _pair_known(package: str, version: str | None, missing: MissingName) -> str:
    if version is not None and (torch := companions.built_for(package, version)) is not None:
        return f": {package} {version} for torch {torch}"
    release = None if missing.target is None else companions.release_for(package, missing.target.version)
    if missing.target is not None and release is not None:
        return f": {package} {release} for torch {versions.minor(missing.target.version)}"
    return ""


def _companion_fix(package: str, missing: MissingName) -> str:
    release = None if missing.target is None else companions.release_for(package, missing.target.version)
    if missing.target is not None and release is not None:
        return (
            f'pip install --force-reinstall --no-deps "{package}=={release}.*"  # for torch '
            f"{versions.minor(missing.target.version)}, from the index that torch came from"
        )
    return (
        f"pip list | grep -i -E '^(torch|{package}) '  # which two releases, and which builds\n"
        f"pip install --upgrade --force-reinstall torch {package}  # both at once, from one index"
    )


# --- others ---------------------------------------------------------------------------------------------------------


def _of_anybody(mention: Mention, missing: MissingName, namespace: str, name: str) -> Candidates:
    package = namespace.lstrip("_") or namespace
    evidence = [f"Nothing has registered {mention.text}: the library that does was not loaded, or failed to load."]
    evidence.append("Its own error often stands further up: an import of the library that was caught.")
    if missing.target is not None:
        evidence.append(f"A library that was built for another torch than {missing.target_label} fails to load so.")
    shown = fixes.word(package, "PACKAGE")
    fix = (
        f"python -c 'import torch, {shown}'  # shows the first error\n"
        f"Install the {shown} that was released for this torch.\n"
        f"For an operator of your own: import the module (or torch.ops.load_library(FILE)) before "
        f"torch.ops.{fixes.word(namespace, 'NAMESPACE')}.{fixes.word(name, 'NAME')} is used."
    )
    yield Candidate(CauseId.OP_NOT_REGISTERED, 0.75, tuple(evidence), fix)
    yield Candidate(
        CauseId.DISTRIBUTION_VARIANT,
        0.5,
        (
            evidence[0],
            "Its library and torch must be of one variant (both CPU, or both of one CUDA) and made for one another.",
        ),
        f"pip list | grep -i -E '^torch|{shown}'",
    )
