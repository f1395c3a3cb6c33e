"""Causes for a library that the loader did not find: of torch, Python, CUDA and others."""

from __future__ import annotations

import re

import msgspec

from abiscan.diagnosis import fixes, install_commands
from abiscan.diagnosis.catalogue.load_packages import package_of_file
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.unfound_vendor_library import explain_library
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.target import TorchKind
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.torch_names import accelerator_of, is_former_library, is_torch_library
from abiscan.ownership.vendors import vendor_of_library
from abiscan.releases.build import ranges_of

# torch 1.5 split libtorch.so (pytorch/pytorch pull request 29235); the index begins later.
_SPLIT = frozenset(("libtorch_cpu.so", "libtorch_cuda.so", "libtorch_hip.so"))
# Parts of libtorch_cuda.so in builds for CUDA 11 until torch 1.13, the only release of them on the package index.
_SPLIT_FOR_CUDA_11 = frozenset(("libtorch_cuda_cpp.so", "libtorch_cuda_cu.so"))
_OLDER_FOR_CUDA_11 = (
    "install the torch that the extension was built for, in its build for CUDA 11 (before 1.13: of torch's own index)"
)
_SPLIT_SINCE = "1.5.0"
# `libgraphbolt_pytorch_2.4.1.so`, `libx_torch27.so`: packages with one library per torch open the one for the installed
# torch.
_FOR_TORCH = re.compile(r"(?:py)?torch[-_]?v?(\d{1,2}\.\d{1,2}(?:\.\d{1,2})?)")
_BASE = "libc10.so"
_PYTHON = re.compile(r"libpython(\d)\.(\d+)m?\.(?:so|dylib)")


def causes(
    name: str,
    missing: MissingName,
    *,
    at_link_time: bool = False,
    names_program: bool = False,
    by_torch: bool = False,
    searched: str | None = None,
) -> Candidates:
    """Causes for a missing library, by its file name.

    Args:
        searched: folder of torch libraries in which a linker searched it.
        by_torch: torch itself was imported, not an extension.
        names_program: the file that needs it is known from the loader, which puts the program's name first.
    """
    if name.endswith(".lib"):
        yield from _import_library(name, missing)
    elif searched is not None and at_link_time and is_torch_library(name):
        yield _not_in_folder(name, searched)
    elif is_torch_library(name) and missing.file.is_torch_itself and not at_link_time and missing.file.facts is None:
        yield _own_library(name, missing)
    elif is_torch_library(name):
        yield from _torch(name, missing, at_link_time, names_program and _is_program(missing.file.base_name))
    elif name.startswith("ld-linux") and missing.file.facts is None:
        evidence = (
            f"{name} is the loader of glibc: the file is built for a system with glibc, and for the processor in that "
            "name, and here it is not found."
        )
        fix = "Use a system (or container image) with glibc, such as Debian's, in place of Alpine; or build it here."
        yield Candidate(CauseId.UNUSABLE_FILE, 0.9, (evidence,), fix)
    elif (python := _PYTHON.match(name)) is not None:
        yield from _python(name, f"{python[1]}.{python[2]}", missing)
    elif (torch := _FOR_TORCH.search(name)) is not None:
        yield from _named_for_torch(name, torch[1], missing)
    else:
        yield from explain_library(name, missing, by_torch=by_torch)


def _own_library(name: str, missing: MissingName) -> Candidate:
    """A library of torch that another one of torch does not find beside itself."""
    evidence = (
        f"{missing.file.file_name} and {name} are both of torch, and stand in one folder: torch/lib. It is not there: "
        "the installation is incomplete, or of two releases, or an interrupted update left it so.",
    )
    torch = "torch" if missing.target is None else f"torch=={missing.target.version}"
    fix = (
        "pip uninstall -y torch; pip uninstall -y torch  # until none is left\n"
        f"pip install --no-cache-dir --force-reinstall {torch}\n"
        "in an environment of conda, use one source: conda list torch; pip list | grep -i torch"
    )
    return Candidate(CauseId.LIBRARY_MISSING, 0.9, evidence, fix)


def _not_in_folder(name: str, folder: str) -> Candidate:
    """The command names the folder of torch libraries, and the library is not there."""
    evidence = [f"The link editor looked for {name} in {folder} too, which -L names: it is not there."]
    if name.startswith("libtorch_python"):
        evidence.append("The archives of libtorch (for C++) have no libtorch_python: only torch for Python has it.")
    else:
        evidence.append("A torch of another release or variant is there, or the folder does not exist.")
    fix = (
        'python -c \'import torch, os; p = os.path.join(os.path.dirname(torch.__file__), "lib"); '
        "print(torch.__version__, p, sorted(os.listdir(p)))'  # put this folder behind -L\n"
        f"ls {fixes.word(folder, 'FOLDER')}  # what is in the other one"
    )
    return Candidate(CauseId.LIBRARY_MISSING, 0.9, tuple(evidence), fix)


_LIBPATH = (
    "Add torch\\lib to the link line: /LIBPATH: and the folder that this prints, or use torch.utils.cpp_extension:\n"
    "python -c \"import torch, os; print(os.path.join(os.path.dirname(torch.__file__), 'lib'))\""
)
_PYTHON_IMPORT = re.compile(r"python(\d)(\d{1,2})(?:_d)?\.lib")


def _import_library(name: str, missing: MissingName) -> Candidates:
    """link.exe needs an import library: `torch_python.lib`, `python310.lib`."""
    python = _PYTHON_IMPORT.fullmatch(name)
    as_library = f"lib{name.removesuffix('.lib')}.so"
    if python is not None:
        evidence = (
            f"{name} is the import library of CPython {python[1]}.{python[2]}, in the folder libs beside python.exe.",
        )
        fix = (
            "Add /LIBPATH: with that folder; environments made by venv have none: that of the installation they are of."
        )
        yield Candidate(CauseId.LIBRARY_MISSING, 0.75, evidence, fix)
        yield Candidate(
            CauseId.PYTHON_ABI_MISMATCH,
            0.55,
            (*evidence, "Or the build is set up for another Python than that one."),
            fix,
        )
    elif is_torch_library(as_library):
        for candidate in _torch(as_library, missing, True, False):
            said = tuple(each.replace(as_library, name) for each in candidate.evidence)
            fix = _LIBPATH if candidate.cause is CauseId.LIBRARY_MISSING else candidate.fix
            yield msgspec.structs.replace(candidate, evidence=said, fix=fix)
    else:
        vendor = vendor_of_library(as_library)
        lacking = [f"link.exe looked for {name} in the folders of /LIBPATH: and of LIB, and found none."]
        fix = f"Name the folder that has {fixes.word(name, 'it')}: /LIBPATH:FOLDER"
        if vendor is not None:
            lacking.append(f"It is part of {vendor.product}.")
        if vendor is not None and vendor.cuda:
            fix = "set CUDA_HOME=C:\\...\\CUDA\\vX.Y  # where the toolkit is\nor: /LIBPATH:%CUDA_HOME%\\lib\\x64"
        yield Candidate(CauseId.LIBRARY_MISSING, 0.85, tuple(lacking), fix)


def _named_for_torch(name: str, version: str, missing: MissingName) -> Candidates:
    """A library of an extension for one torch, with its version in the name."""
    evidence = (
        f"{name} is the extension's library for torch {version}, by its name: that torch is there, and what is "
        "installed of the extension has no library for it.",
        "Such an extension looks for the library of the torch that it finds.",
    )
    package = package_of_file(name)
    known = () if package is None else install_commands.for_release(package, version, missing)
    fix = "\n".join(known) or (
        f"Install the release of the extension that was made for torch {version}, or another torch for which the "
        "folder beside it has a library."
    )
    yield Candidate(CauseId.LIBRARY_MISSING, 0.82, evidence, fix)
    older = "Most often that torch is newer than the extension's release; an extension drops old ones too."
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.7, (*evidence, older), fix)


def shipped_in(name: str, missing: MissingName) -> ReleaseRanges | None:
    """The releases with a library of this name; None without the index."""
    releases = missing.knowledge.releases
    if releases is None:
        return None
    builds = releases.builds(missing.knowledge.machine)
    return ranges_of(builds, [build.ships(name) for build in builds])


def _torch(name: str, missing: MissingName, at_link_time: bool, of_program: bool) -> Candidates:
    ranges = shipped_in(name, missing)
    target = missing.target
    gpu = accelerator_of(name)
    builds = f"torch's {gpu} builds" if gpu else "torch"
    who = "link editor" if at_link_time else "loader"
    evidence = [f"{name} is a library of {builds}, in torch/lib, where the {who} does not look by itself."]
    score = 0.9
    split = name in _SPLIT_FOR_CUDA_11
    if ranges and split:
        evidence.append(
            f"Builds of torch for CUDA 11 have it, up to {ranges.last}; of the builds on the package index those of "
            f"{ranges.text()} are for CUDA 11, and earlier ones with CUDA are not."
        )
    elif ranges:
        evidence.append(f"It is shipped by torch {ranges.text()}.")
    if target is not None and ranges is not None:
        inside = ranges.contains(target.version)
        ships = gpu is None or {"CUDA": target.cuda, "ROCm": target.hip}.get(gpu) is not None
        if (
            ranges
            and inside is False
            and not missing.knowledge.target_is_before_index
            and not missing.knowledge.target_is_after_index
        ):
            score = 0.3
            older = ranges.all_before(target.version)
            cause = CauseId.BUILT_FOR_OLDER_TORCH if older else CauseId.BUILT_FOR_NEWER_TORCH
            lacks = f"{missing.target_label} does not ship it."
            if name in _SPLIT_FOR_CUDA_11 and not older:
                lacks = f"torch {target.version} on the package index is for CUDA 10.2 or older and does not ship it."
                other = "A build of that release for CUDA 11, of the indexes of torch and of its conda channel, may."
                way = (
                    "pip list | grep torch; conda list | grep torch  # torch and its companions must be of one source\n"
                    "Install all of them from one index, or one channel with strict priority."
                )
                yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.91, (*evidence, lacks, other), way)
            fix = fixes.rebuild_or_install(missing, ranges)
            if split and older:
                fix = f"{fixes.rebuild_or_install(missing, ReleaseRanges())}\nor: {_OLDER_FOR_CUDA_11}"
            yield Candidate(cause, 0.9, (*evidence, lacks), fix)
        elif not ships:
            score = 0.3
            yield Candidate(
                CauseId.CUDA_BUILD_REQUIRED,
                0.93,
                (*evidence, f"{missing.target_label} is no {gpu} build and has no such library."),
                fixes.gpu_build(missing)
                if gpu == "CUDA"
                else f"Install a {gpu} build of torch (from the wheel index of its variant), or the build of the "
                f"extension for {missing.target_label}.",
            )
        elif not ranges:
            score = 0.3
            first, last = missing.known_versions[0], missing.known_versions[-1]
            yield Candidate(
                CauseId.BUILT_FOR_OLDER_TORCH,
                0.6,
                (*evidence, f"None of the known builds ({first} - {last}) ships it."),
                fixes.rebuild_or_install(missing, ranges),
            )
    elif ranges is not None and not ranges and is_former_library(name):
        first, last = missing.known_versions[0], missing.known_versions[-1]
        score = 0.5
        yield Candidate(
            CauseId.BUILT_FOR_OLDER_TORCH,
            0.92,
            (*evidence, f"None of the known builds ({first} - {last}) ships it: it is of a torch before them."),
            fixes.rebuild(missing),
        )
    elif ranges and ranges.last != missing.known_versions[-1]:
        score = 0.5
        evidence.append("Later releases have no library of that name.")
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.92, tuple(evidence), fixes.rebuild_or_install(missing, ranges))
        if name in _SPLIT_FOR_CUDA_11:
            other = (
                "Builds of one release differ in it: one for CUDA 11 has it, conda-forge's and one for "
                "CUDA 10.2 have not."
            )
            way = "pip list | grep torch; conda list | grep torch  # torch and its companions must be of one source"
            yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.65, (*evidence, other), way)
        if ranges.first != missing.known_versions[0]:
            before = f"If your torch is older than {ranges.first}: it has none of that name yet."
            yield Candidate(
                CauseId.BUILT_FOR_NEWER_TORCH, 0.6, (before, *evidence), fixes.rebuild_or_install(missing, ranges)
            )
    elif gpu:
        behind = not at_link_time and not of_program and _stands_behind_base(name, missing)
        needs = 0.78 if of_program else 0.7
        why = "CPU builds of torch do not have it; which build is installed would decide."
        if behind:
            needs, score = 0.92, 0.6
            why = (
                f"{_BASE} comes before it in the needed libraries of an extension, and the loader names the first "
                f"library that "
                "it does not find: torch is loaded, or found, and has no such library, as a CPU build."
            )
        yield Candidate(
            CauseId.CUDA_BUILD_REQUIRED,
            needs,
            (*evidence, why),
            fixes.gpu_build(missing),
        )
    elif target is None and not at_link_time and not of_program and _stands_behind(name, missing):
        # Of 240 published extensions that need it, 236 need another torch library first.
        score = 0.72
        text = (
            f"In nearly every extension another library of torch stands before {name}, and the loader names the first "
            "that it does not find: torch is loaded, or found, and has no such library, as torch before "
            f"{_SPLIT_SINCE}."
        )
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.78, (text, *evidence), fixes.rebuild(missing))
    if accelerator_of(name) == "ROCm" and not at_link_time and (target is None or target.hip is None):
        score = min(score, 0.5)
        here = (
            "It is not in a CUDA or CPU build of torch"
            if target is None
            else f"{missing.target_label} is not one of them"
        )
        yield Candidate(
            CauseId.ROCM_NAMING,
            0.94,
            (f"Only ROCm builds of torch have {name}. {here}: the extension was built for ROCm.", *evidence),
            "Install the build of the extension for this torch (its wheel index for CUDA or CPU), or torch for ROCm.",
        )
    if target is not None and name in _SPLIT and _is_before(target.version, _SPLIT_SINCE):
        score = 0.3
        text = f"{missing.target_label} is older than {_SPLIT_SINCE}, the first release that has {name}."
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.92, (text, *evidence), fixes.rebuild(missing))
    if at_link_time:
        fix = (
            "Add torch/lib to the link line: -L$(python -c 'import torch, os; "
            'print(os.path.join(os.path.dirname(torch.__file__), "lib"))\'), or use torch.utils.cpp_extension.'
        )
        yield Candidate(CauseId.LIBRARY_MISSING, score, tuple(evidence), fix)
        return
    if of_program:
        fix = (
            "Link it with -Wl,-rpath,/path/to/libtorch/lib, or export LD_LIBRARY_PATH=/path/to/libtorch/lib:"
            "$LD_LIBRARY_PATH"
        )
        evidence.append(f"{missing.file.base_name} is a program: no Python loads torch before it.")
        yield Candidate(
            CauseId.LIBRARY_MISSING, min(score, 0.75 if gpu and target is None else 0.8), tuple(evidence), fix
        )
        return
    if target is None or target.kind is not TorchKind.INSTALLED:
        evidence.append(
            "Where torch is installed, `import torch` loads it, and the file finds the loaded one by its name."
        )
    if name == "libtorch.so" and target is None and missing.file.facts is None:
        # Of 243 published files that need it, 99 need it first: those linked by CMake.
        linked = (
            "Extensions built by torch.utils.cpp_extension need libc10.so first: this file was linked by CMake or is "
            "a program, and needs torch/lib in its RUNPATH or LD_LIBRARY_PATH."
        )
        way = (
            "export LD_LIBRARY_PATH=$(python -c 'import torch, os; "
            "print(os.path.dirname(torch.__file__))')/lib:$LD_LIBRARY_PATH\n"
            "or link it with -Wl,-rpath,/path/to/torch/lib"
        )
        yield Candidate(CauseId.LIBRARY_MISSING, 0.91, (*evidence, linked), way)
    stem = fixes.word(missing.file.module, "the extension")
    fix = (
        f"import torch  # before {stem}; where that fails: pip install torch, in this environment\n"
        "In a program without Python: link with -Wl,-rpath,/path/to/torch/lib"
    )
    yield Candidate(CauseId.IMPORT_TORCH_FIRST, score, tuple(evidence), fix)
    yield Candidate(
        CauseId.LIBRARY_MISSING,
        score - 0.35,
        (*evidence[:1], "Without a torch in this environment it is nowhere."),
        "pip install torch  # in the environment that runs this",
    )


def _stands_behind_base(name: str, missing: MissingName) -> bool:
    """Whether torch's base library is searched first. `torch.utils.cpp_extension` links c10 first, and the loader
    searches needed libraries in order."""
    if missing.file.facts is None:
        return True
    needed = list(missing.file.needed)
    return name in needed and any(is_torch_library(before) for before in needed[: needed.index(name)])


def _stands_behind(name: str, missing: MissingName) -> bool:
    """Whether a library from after torch's split follows another one, in a file that was not read."""
    return name in _SPLIT and missing.file.facts is None


def _is_before(version: str, first: str) -> bool:
    at, since = versions.order(version), versions.order(first)
    return at is not None and since is not None and at < since


def _is_program(base_name: str) -> bool:
    """Whether the file that needs the library is neither a shared object nor an interpreter."""
    return bool(base_name) and "." not in base_name and not base_name.startswith(("python", "pypy"))


def _python(name: str, version: str, missing: MissingName) -> Candidates:
    environment = missing.environment
    evidence = [f"{name} is CPython {version}'s shared library."]
    score = 0.75
    otherwise = 0.78
    if environment is not None and environment.python is not None:
        here = str(environment.python)
        if here == version:
            score = 0.4
            evidence.append(
                f"This interpreter is CPython {here} too; it may be linked statically, with no libpython beside it."
            )
        else:
            score, otherwise = 0.92, 0.6
            evidence.append(f"This interpreter is CPython {here}.")
    fix = (
        f"Use CPython {version}, or install the build of the extension for this interpreter.\nWheels must not "
        f"link libpython: build without -lpython{version}."
    )
    yield Candidate(CauseId.PYTHON_ABI_MISMATCH, score, tuple(evidence), fix)
    yield Candidate(
        CauseId.LIBRARY_MISSING,
        otherwise,
        (
            *evidence,
            "Where that CPython is there, its folder lib (of conda, of pyenv) is none that the loader searches.",
        ),
        f"Install it (Debian: apt install libpython{version}; conda: conda install python={version}), or "
        f"export LD_LIBRARY_PATH with its directory.",
    )
