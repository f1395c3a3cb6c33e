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
    if mention.complaint is Complaint.NO_OPERATORS and mention.text == "torchcodec":
        yield from _of_torchcodec()
        return
    if mention.complaint is Complaint.NO_OPERATORS and mention.text == "sgl_kernel":
        yield from _of_sgl_kernel()
        return
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
    # A model in TorchScript names operators that its program need not have imported.
    scripted = mention.context in ("Unknown builtin op", "Could not find schema for")
    yield from _of_companion(package, text, missing)
    yield Candidate(
        CauseId.OP_NOT_REGISTERED,
        0.6 if scripted else 0.35,
        (f"Nothing has registered {mention.text}; importing {package} does, where its library loads.",),
        f"import {package}  # before a model that uses {mention.text} is loaded\n"
        f"In a program without Python: link {package}'s own C++ library.",
    )


def _of_torchcodec() -> Candidates:
    first = "torchcodec found no library of its own that loads: it has one for each release of FFmpeg, and tries them."
    yield Candidate(
        CauseId.LIBRARY_MISSING,
        0.75,
        (first, "The message names what is not there first: the shared libraries of FFmpeg (libavutil and its kin)."),
        "conda install -c conda-forge ffmpeg  # or the system's; ffmpeg -version tells which release is there",
    )
    fix = "pip list | grep -i torch  # README of torchcodec: which release is for which torch"
    evidence = (
        first,
        "Each release of torchcodec is built for one release of torch: beside another none of them loads.",
    )
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.6, evidence, fix)
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.55, evidence, fix)


def _of_sgl_kernel() -> Candidates:
    first = "sgl_kernel found its library for this GPU, or none for it, and none that it tried loads."
    why = "The loader's own words, which it prints below for each file, say what is missing, and would decide."
    fix = (
        "python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.get_device_capability())'\n"
        "pip install --force-reinstall sgl-kernel  # the release that this release of sglang asks for, for that CUDA"
    )
    each = (
        "Each release of sgl-kernel is built for one release of torch: beside another one none of its libraries loads."
    )
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.58, (first, each, why), fix)
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.56, (first, each, why), fix)
    library = "A library that it is linked to (libnuma, CUDA's of another release) may be missing."
    yield Candidate(CauseId.LIBRARY_MISSING, 0.5, (first, library, why), fix)


def no_fake(mention: Mention) -> Candidates:
    """An operator that torch.compile or torch.export asks for shapes, and that has kernels alone."""
    if mention.context:
        said = (
            "The message says it itself: torch.compile or torch.export traces into a kernel of an extension, which "
            "asks a tensor without data (a FakeTensor) for its data. The function is no operator of torch.",
        )
        way = (
            '@torch.library.custom_op("NAMESPACE::NAME", mutates_args=())  # around the call of the extension\n'
            "def name(x: torch.Tensor) -> torch.Tensor: ...\n"
            "@name.register_fake\n"
            "def _(x): return torch.empty_like(x)  # the shape and type of its result"
        )
        yield Candidate(CauseId.OP_NOT_REGISTERED, 0.88, said, way)
        return
    name = mention.text if "::" in mention.text else "NAMESPACE::NAME"
    shown = ".".join(fixes.word(part, "NAME") for part in name.split("::"))
    evidence = (
        f"{mention.text} has no implementation that gives shapes alone (a fake one, or a kernel for Meta), which "
        "torch.compile and torch.export run in place of it.",
    )
    fix = (
        f'@torch.library.register_fake("{shown.replace(".", "::", 1)}")  # torch 2.4 and later; impl_abstract before\n'
        "def _(x): return torch.empty_like(x)  # with its arguments, and the shape and type of its result\n"
        "and import the module that does it before the model is compiled."
    )
    yield Candidate(CauseId.OP_NOT_REGISTERED, 0.9, evidence, fix)


def registered_twice(mention: Mention) -> Candidates:
    """Two libraries of one process register the same operators."""
    name = fixes.word(mention.text, "PACKAGE")
    evidence = (
        f"Operators of {mention.text} are registered twice in the process: by two libraries (two copies of one, or an "
        "older one beside a newer), or twice by one source.",
    )
    fix = (
        f"find . $(python -c 'import site; print(*site.getsitepackages())') -name '*.so' "
        f"-path '*{name}*'  # which copies there are\n"
        "pip uninstall until none is left, and install one; in a source tree remove build and the *.so that are left.\n"
        "In a source of your own: one TORCH_LIBRARY for each namespace, TORCH_LIBRARY_FRAGMENT for the others."
    )
    yield Candidate(
        CauseId.DISTRIBUTION_VARIANT, 0.49, (*evidence, "One of them may be a build for another torch or variant."), fix
    )
    yield Candidate(
        CauseId.BUILT_FOR_OLDER_TORCH, 0.47, (*evidence, "One of them may be left from an earlier installation."), fix
    )


def no_backend(mention: Mention) -> Candidates:
    """torch's library of a device registers it when it is loaded; nothing loaded it."""
    device = mention.text
    evidence = (f"Nothing has registered the device {device}: torch's library for it was not loaded.",)
    build = Candidate(
        CauseId.CUDA_BUILD_REQUIRED,
        0.7,
        (*evidence, "A build for CPU has no such library."),
        "python -c 'import torch; print(torch.__version__, torch.version.cuda)'  # None is a CPU build\n"
        "Install a build for the device (the wheel index of its variant), or the libtorch for it.",
    )
    link = Candidate(
        CauseId.LIBRARY_NOT_LINKED,
        0.78 if mention.library is not None else 0.66,
        (*evidence, "A linker leaves a library out of which no name is used, unless it is told to keep it."),
        "Link it for good: -Wl,--no-as-needed -ltorch_cuda (link.exe: "
        "/INCLUDE:?warp_size@cuda@at@@YAHXZ), before the other libraries of torch.",
    )
    yield build
    yield link


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
