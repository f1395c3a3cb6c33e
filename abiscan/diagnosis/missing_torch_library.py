"""Causes for a library of torch that the loader or linker did not find."""

from __future__ import annotations

from abiscan.diagnosis import fixes, package_commands
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.reference import ReferringFile
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.platforms import file_key, platform_of
from abiscan.model.target import TorchKind
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.torch_names import accelerator_of, is_former_library, is_torch_library
from abiscan.releases.build import ranges_of

# torch 1.5 split libtorch.so (pytorch/pytorch pull request 29235); the index begins later.
_SPLIT = frozenset(("libtorch_cpu.so", "libtorch_cuda.so", "libtorch_hip.so"))
# Parts of libtorch_cuda.so in builds for CUDA 11 until torch 1.13, the only release of them on the package index.
_SPLIT_FOR_CUDA_11 = frozenset(("libtorch_cuda_cpp.so", "libtorch_cuda_cu.so"))
_OLDER_FOR_CUDA_11 = (
    "install the torch that the extension was built for, in its build for CUDA 11 (before 1.13: of torch's own index)"
)
_SPLIT_SINCE = "1.5.0"
_BASE = "libc10.so"
# Python imports `.so` on macOS and `.pyd` on Windows.
_NO_EXTENSION_MODULES = (".dylib", ".dll", ".bundle")


def _shipped_in(name: str, missing: MissingName) -> ReleaseRanges | None:
    """The releases with a library of this name; None without the index, or if the index lacks such builds."""
    releases = missing.knowledge.releases
    if releases is None:
        return None
    machine = missing.knowledge.machine
    if accelerator_of(name) is not None and platform_of(machine).torch_has_unlisted_cuda:
        return None
    builds = releases.builds(machine)
    return ranges_of(builds, [build.ships(file_key(name)) for build in builds])


def own_library(name: str, missing: MissingName) -> Candidate:
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


def not_in_folder(name: str, folder: str) -> Candidate:
    """The command names the folder of torch libraries, and the library is not there."""
    evidence = [f"The linker did not find {name} in {folder} (option -L)."]
    if name.startswith("libtorch_python"):
        evidence.append("libtorch archives (C++) do not contain libtorch_python: only torch for Python does.")
    else:
        evidence.append("The folder contains another release or variant of torch, or does not exist.")
    fix = (
        'python -c \'import torch, os; p = os.path.join(os.path.dirname(torch.__file__), "lib"); '
        "print(torch.__version__, p, sorted(os.listdir(p)))'  # pass this folder with -L\n"
        f"ls {fixes.safe(folder, 'FOLDER')}  # shows what the other folder contains"
    )
    return Candidate(CauseId.LIBRARY_MISSING, 0.9, tuple(evidence), fix)


def causes_for_torch(name: str, missing: MissingName, at_link_time: bool, of_program: bool) -> Candidates:
    ranges = _shipped_in(name, missing)
    target = missing.target
    gpu = accelerator_of(name)
    builds = f"torch's {gpu} builds" if gpu else "torch"
    who = "linker" if at_link_time else "loader"
    lead = f"The {who} did not find" if missing.file.facts is None else "Needs"
    evidence = [f"{lead} {name}, a library of {builds} (in torch/lib)."]
    score = 0.9
    split = name in _SPLIT_FOR_CUDA_11
    if ranges and split:
        evidence.append(
            f"CUDA 11 builds of torch up to {ranges.last} ship it; on PyPI these are torch {ranges.text()}."
        )
    elif ranges:
        evidence.append(f"torch {ranges.text()} ships it.")
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
                lacks = f"torch {target.version} on PyPI is for CUDA 10.2 or older and does not ship it."
                other = (
                    "CUDA 11 builds of that release, from download.pytorch.org or the conda channel pytorch, may "
                    "ship it."
                )
                way = (
                    "pip list | grep torch; conda list | grep torch  # torch and its companions must come from one "
                    "source\n"
                    "Install all of them from one index, or from one conda channel with strict priority."
                )
                yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.91, (*evidence, lacks, other), way)
            fix = fixes.rebuild_or_install(missing, ranges)
            if split and older:
                fix = f"{fixes.rebuild_or_install(missing, ReleaseRanges())}\nor: {_OLDER_FOR_CUDA_11}"
            yield Candidate(cause, 0.9, (*evidence, lacks), fix)
        elif not ships and gpu == "CUDA" and target.hip is not None:
            score = 0.3
            only = f"Only CUDA builds of torch contain {name}. {missing.target_label} is a ROCm build."
            way = f"Install the build of the extension for ROCm, if there is one\nor: {fixes.rebuild(missing)}"
            yield Candidate(CauseId.ROCM_NAMING, 0.93, (*evidence, only), way)
        elif not ships:
            score = 0.3
            yield Candidate(
                CauseId.CUDA_BUILD_REQUIRED,
                0.93,
                (*evidence, f"{missing.target_label} is not built for {gpu} and does not contain this library."),
                fixes.gpu_build(missing)
                if gpu == "CUDA"
                else f"Install a {gpu} build of torch (from the wheel index of its variant).\nor: Install the build "
                f"of the extension for {missing.target_label}.",
            )
        elif not ranges:
            score = 0.3
            first, last = missing.known_versions[0], missing.known_versions[-1]
            yield Candidate(
                CauseId.BUILT_FOR_OLDER_TORCH,
                0.6,
                (*evidence, f"No known torch build ({first}-{last}) ships it."),
                fixes.rebuild_or_install(missing, ranges),
            )
    elif ranges is not None and not ranges and is_former_library(name):
        first, last = missing.known_versions[0], missing.known_versions[-1]
        score = 0.5
        yield Candidate(
            CauseId.BUILT_FOR_OLDER_TORCH,
            0.92,
            (*evidence, f"No known torch build ({first}-{last}) ships it: it is from an older torch."),
            fixes.rebuild(missing),
        )
    elif ranges and ranges.last != missing.known_versions[-1]:
        score = 0.5
        evidence.append("Later releases do not ship it.")
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.92, tuple(evidence), fixes.rebuild_or_install(missing, ranges))
        if name in _SPLIT_FOR_CUDA_11:
            other = (
                "Builds of the same release differ: CUDA 11 builds ship it; CUDA 10.2 builds and conda-forge do not."
            )
            way = "pip list | grep torch; conda list | grep torch  # torch and its companions must come from one source"
            yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.65, (*evidence, other), way)
        if ranges.first != missing.known_versions[0]:
            before = f"Your torch may be older than {ranges.first}, the first release that ships it."
            yield Candidate(
                CauseId.BUILT_FOR_NEWER_TORCH, 0.6, (before, *evidence), fixes.rebuild_or_install(missing, ranges)
            )
    elif gpu:
        behind = not at_link_time and not of_program and _stands_behind_base(name, missing)
        needs = 0.78 if of_program else 0.7
        why = "The installed torch is probably a CPU build, which does not contain it."
        if behind:
            needs, score = 0.92, 0.6
        if behind and not name.lower().endswith((".dll", ".pyd")):  # Windows does not show the order
            why = (
                f"The loader found {_BASE}, which comes first in the needed libraries of an extension: torch is "
                f"loaded, and is probably a CPU build."
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
            f"The loader reports the first library that it does not find, and most extensions need another torch "
            f"library before {name}: torch is loaded, and is probably older than {_SPLIT_SINCE}."
        )
        fix = fixes.rebuild_or_install(missing, ranges or ReleaseRanges())
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.78, (text, *evidence), fix)
    if accelerator_of(name) == "ROCm" and not at_link_time and (target is None or target.hip is None):
        score = min(score, 0.5)
        here = "CUDA and CPU builds do not" if target is None else f"{missing.target_label} is not one of them"
        yield Candidate(
            CauseId.ROCM_NAMING,
            0.94,
            (f"Only ROCm builds of torch contain {name}. {here}: the extension was built for ROCm.", *evidence),
            "Install the build of the extension for this torch (from its wheel index for CUDA or CPU).\nor: Install "
            "torch for ROCm.",
        )
    if target is not None and name in _SPLIT and _is_before(target.version, _SPLIT_SINCE):
        score = 0.3
        text = f"{missing.target_label} is older than {_SPLIT_SINCE}, the first release that ships {name}."
        fix = fixes.rebuild_or_install(missing, ranges or ReleaseRanges())
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.92, (text, *evidence), fix)
    if at_link_time:
        fix = (
            "Add torch/lib to the link line: -L$(python -c 'import torch, os; "
            'print(os.path.join(os.path.dirname(torch.__file__), "lib"))\'), or use torch.utils.cpp_extension.'
        )
        yield Candidate(CauseId.LIBRARY_MISSING, score, tuple(evidence), fix)
        return
    if of_program:
        evidence.append(
            f"{missing.file.base_name} is a program: it is not started by Python, so torch is not loaded before it."
            if _is_program(missing.file.base_name)
            else f"{missing.file.file_name} is not an extension module of Python. In a program without Python "
            "nothing loads torch before it."
        )
        fix = _for_program(name)
        yield Candidate(
            CauseId.LIBRARY_MISSING, min(score, 0.75 if gpu and target is None else 0.8), tuple(evidence), fix
        )
        return
    if target is None or target.kind is not TorchKind.INSTALLED:
        evidence.append("`import torch` loads it; the file then uses the loaded copy.")
    if name == "libtorch.so" and target is None and missing.file.facts is None:
        # Of 243 published files that need it, 99 need it first: those linked by CMake.
        linked = (
            "Extensions built by torch.utils.cpp_extension need libc10.so first. This file was linked by CMake or is "
            "a program: it needs torch/lib in RUNPATH or LD_LIBRARY_PATH."
        )
        way = (
            "export LD_LIBRARY_PATH=$(python -c 'import torch, os; "
            "print(os.path.dirname(torch.__file__))')/lib:$LD_LIBRARY_PATH\n"
            "or link it with -Wl,-rpath,/path/to/torch/lib"
        )
        if package_commands.find_package(missing) is not None:
            # It may be linked with the library of a torch that was in another folder or of another release.
            way = f"{fixes.rebuild(missing)}\nor: {way}"
        yield Candidate(CauseId.LIBRARY_MISSING, 0.91, (*evidence, linked), way)
    stem = fixes.safe(missing.file.module, "the extension")
    fix = (
        f"import torch  # before {stem}; if this fails, run pip install torch in this environment\n"
        f"In a program without Python: {_for_program(name)}"
    )
    yield Candidate(CauseId.IMPORT_TORCH_FIRST, score, tuple(evidence), fix)
    yield Candidate(
        CauseId.LIBRARY_MISSING,
        score - 0.35,
        (*evidence[:1], "torch may not be installed in this environment."),
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
    stem = base_name.removesuffix(".exe")
    return bool(stem) and "." not in stem and not stem.startswith(("python", "pypy"))


def is_of_program(file: ReferringFile) -> bool:
    """Whether the file is a program, or a library outside of Python's packages that is no extension module."""
    in_package = "site-packages" in file.path or "dist-packages" in file.path
    return _is_program(file.base_name) or (file.base_name.endswith(_NO_EXTENSION_MODULES) and not in_package)


def _for_program(name: str) -> str:
    """How a program without Python finds a library of torch."""
    if name.lower().endswith(".dll"):
        return "copy the DLLs of libtorch\\lib into the folder of the program (.exe), or add libtorch\\lib to PATH"
    if name.endswith(".dylib"):
        return (
            "link it with -Wl,-rpath,/path/to/libtorch/lib  # a linked file: install_name_tool -add_rpath FOLDER FILE"
        )
    return (
        "link it with -Wl,-rpath,/path/to/libtorch/lib, or export LD_LIBRARY_PATH=/path/to/libtorch/lib:"
        "$LD_LIBRARY_PATH"
    )
