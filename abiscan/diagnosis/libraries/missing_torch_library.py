"""Causes for a library of torch that the loader or linker did not find."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct

from abiscan.diagnosis.fixes import extension_fixes, package_commands, torch_fixes
from abiscan.diagnosis.fixes.libtorch_programs import find_program
from abiscan.diagnosis.fixes.torch_commands import newest_of_variant
from abiscan.diagnosis.fixes.wheel_rows import is_on_windows, patch_release, published_wheel, rows_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.reference import A_PROGRAM, ReferringFile
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.platforms import file_key, platform_of
from abiscan.model.target import TorchBuild, TorchKind
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
_SAME_CUDA = (
    "1.13 or older: install the build of the extension for that torch.version.cuda, whatever `nvcc --version` prints"
)
_LIST_TORCH = "pip list | grep torch; conda list | grep torch  # torch and its companions must come from one source"
_WHICH_SPLIT = (
    "python -c 'import torch; print(torch.__version__, torch.version.cuda)'  # 2.0 or later: built for an older torch; "
    "1.13 or older: torch is the build for another CUDA, of conda-forge or for the CPU"
)
_WHICH_BUILD = (
    'python -c "import torch; print(torch.__version__)"  # +rocm: keep this torch, and install or build the extension '
    "for ROCm (torchvision, torchaudio: from the same index as torch); otherwise:"
)
_SPLIT_SINCE = "1.5.0"
_OF_SPLIT = "1.13"  # the last torch with such builds
_WITHOUT_SPLIT = "2.0"
_BASE = "libc10.so"
# Python imports `.so` on Linux and macOS and `.pyd` on Windows; a program's plug-ins have suffixes of their own.
_EXTENSION_MODULE = r"\.(?:so(?:\.[\d.]{1,32})?|pyd)$"


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


class _Search(Struct, frozen=True):
    """A search for a library of torch that failed.

    Attributes:
        shipped: releases that ship it; None without an index of them.
        accelerator: `CUDA` or `ROCm` if only such builds ship it.
        evidence: sentences for every cause.
    """

    name: str
    missing: MissingName
    at_link_time: bool
    of_program: bool
    shipped: ReleaseRanges | None
    accelerator: str | None
    evidence: tuple[str, ...]

    def candidate(
        self, cause: CauseId, score: float, fix: str | Callable[[], str], *evidence: str, form: str = ""
    ) -> Candidate:
        """A cause with more evidence and the commands of its fix."""
        return Candidate(cause, score, (*self.evidence, *evidence), fix, form)


def causes_for_torch(name: str, missing: MissingName, at_link_time: bool, of_program: bool) -> Candidates:
    """Causes for a library of torch that the linker, else the loader did not find, for a program or for Python."""
    search = _search(name, missing, at_link_time, of_program)
    score = 0.9  # of a cause besides the releases and builds of torch
    for remaining, candidate in _builds(search):
        score = min(score, remaining)
        yield candidate
    if at_link_time:
        program = find_program(missing)
        build = "" if program is None else program.build
        yield from row_causes(
            "torch-library-not-found-by-linker",
            missing,
            commands={"build": build},
            evidence=search.evidence,
            score=score,
        )
    elif of_program:
        yield from _not_beside_program(search, score)
    else:
        yield from _not_loaded(search, score)


def _search(name: str, missing: MissingName, at_link_time: bool, of_program: bool) -> _Search:
    shipped, gpu = _shipped_in(name, missing), accelerator_of(name)
    builds = f"torch's {gpu} builds" if gpu else "torch"
    who = "linker" if at_link_time else "loader"
    lead = f"The {who} did not find" if missing.file.facts is None else "Needs"
    evidence = [f"{lead} {name}, a library of {builds} (in torch/lib)."]
    if shipped and name in _SPLIT_FOR_CUDA_11:
        evidence.append(
            f"CUDA 11 builds of torch up to {shipped.last} ship it; on PyPI these are torch {shipped.text()}."
        )
    elif shipped:
        evidence.append(f"torch {shipped.text()} ships it.")
    is_of_target = missing.target is not None and shipped is not None
    if shipped and not is_of_target and shipped.last != missing.known_versions[-1]:
        evidence.append("Later releases do not ship it.")
    return _Search(name, missing, at_link_time, of_program, shipped, gpu, tuple(evidence))


def _builds(search: _Search) -> Iterator[tuple[float, Candidate]]:
    """Causes in the releases and builds of torch, each with the score that remains for other causes."""
    missing, target = search.missing, search.missing.target
    if target is not None and search.shipped is not None:
        for candidate in _not_in_target(search, target, search.shipped):
            yield 0.3, candidate
    elif search.shipped is not None and not search.shipped and is_former_library(search.name):
        older = f"{_no_known_build(missing)}: it is from an older torch."
        yield 0.5, search.candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.92, extension_fixes.rebuild(missing), older)
    elif search.shipped and search.shipped.last != missing.known_versions[-1]:
        for candidate in _not_in_later(search, search.shipped):
            yield 0.5, candidate
    elif search.accelerator:
        yield _not_in_cpu_build(search)
    elif (
        target is None
        and search.name in _SPLIT
        and not (search.at_link_time or search.of_program or missing.file.facts)
    ):
        # Of 240 published extensions that need it, 236 need another torch library first.
        text = (
            "The loader reports the first library that it does not find, and most extensions need another torch "
            f"library before {search.name}: torch is loaded, and is probably older than {_SPLIT_SINCE}."
        )
        fix = torch_fixes.rebuild_or_install(missing, search.shipped or ReleaseRanges())
        yield 0.72, Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.78, (text, *search.evidence), fix)
    if search.accelerator == "ROCm" and not search.at_link_time and (target is None or target.hip is None):
        here = "CUDA and CPU builds do not" if target is None else f"{missing.target_label} is not one of them"
        only = f"Only ROCm builds of torch contain {search.name}. {here}: the extension was built for ROCm."
        own = _of_package(missing) or (
            "Install the build of the extension for this torch (from its wheel index for CUDA or CPU)."
        )
        fix = f"{own}\nor: Install torch for ROCm."
        form = "needs-rocm" if target is None and missing.file.facts is None else ""
        yield 0.5, Candidate(CauseId.ROCM_NAMING, 0.94, (only, *search.evidence), fix, form)
    if target is not None and search.name in _SPLIT and _is_before(target.version, _SPLIT_SINCE):
        text = f"{missing.target_label} is older than {_SPLIT_SINCE}, the first release that ships {search.name}."
        fix = torch_fixes.rebuild_or_install(missing, search.shipped or ReleaseRanges())
        yield 0.3, Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.92, (text, *search.evidence), fix)


def _not_in_target(search: _Search, target: TorchBuild, shipped: ReleaseRanges) -> Candidates:
    """The target's release or variant does not ship it."""
    missing, gpu, here = search.missing, search.accelerator, search.missing.target_label
    is_known = not missing.knowledge.target_is_before_index and not missing.knowledge.target_is_after_index
    ships = gpu is None or {"CUDA": target.cuda, "ROCm": target.hip}.get(gpu) is not None
    if shipped and is_known and shipped.contains(target.version) is False:
        yield from _not_in_release(search, target, shipped)
    elif not ships and gpu == "CUDA" and target.hip is not None:
        only = f"Only CUDA builds of torch contain {search.name}. {here} is a ROCm build."
        way = f"Install the build of the extension for ROCm, if there is one\nor: {extension_fixes.rebuild(missing)}"
        yield search.candidate(CauseId.ROCM_NAMING, 0.93, way, only)
    elif not ships:
        lacks = f"{here} is not built for {gpu} and does not contain this library."
        if missing.variant_is_assumed:
            lacks = f"The text does not show the variant of {here}: the build of the package index is not for {gpu}."
        of_gpu = partial(torch_fixes.build_for, gpu or "", missing)
        yield search.candidate(CauseId.CUDA_BUILD_REQUIRED, 0.75 if missing.variant_is_assumed else 0.93, of_gpu, lacks)
    elif not shipped:
        build = partial(torch_fixes.rebuild_or_install, missing, shipped)
        yield search.candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.6, build, f"{_no_known_build(missing)}.")


def _not_in_release(search: _Search, target: TorchBuild, shipped: ReleaseRanges) -> Candidates:
    missing, is_split = search.missing, search.name in _SPLIT_FOR_CUDA_11
    is_older = shipped.all_before(target.version)
    lacks = f"{missing.target_label} does not ship it."
    if is_split and not is_older:
        lacks = f"torch {target.version} on PyPI is for CUDA 10.2 or older and does not ship it."
        other = "CUDA 11 builds of that release, from download.pytorch.org or the conda channel pytorch, may ship it."
        one = "Install all of them from one index, or from one conda channel with strict priority."
        way = "\n".join(filter(None, (_LIST_TORCH, one, _of_package(missing))))
        yield search.candidate(CauseId.DISTRIBUTION_VARIANT, 0.91, way, lacks, other)
    fix = torch_fixes.rebuild_or_install(missing, shipped)
    if is_split and is_older:
        fix = f"{torch_fixes.rebuild_or_install(missing, ReleaseRanges())}\nor: {_OLDER_FOR_CUDA_11}"
    cause = CauseId.BUILT_FOR_OLDER_TORCH if is_older else CauseId.BUILT_FOR_NEWER_TORCH
    yield search.candidate(cause, 0.9, fix, lacks)


def _not_in_later(search: _Search, shipped: ReleaseRanges) -> Candidates:
    """Only older releases ship it; the target is unknown."""
    missing, fix = search.missing, torch_fixes.rebuild_or_install(search.missing, shipped)
    is_split = search.name in _SPLIT_FOR_CUDA_11
    if is_split:
        fix = f"{_WHICH_SPLIT}\n{_of_split_torch(missing)}{fix}"
    # Who installs with conda names the CUDA of torch: pytorch-cuda=11.6.
    named = missing.log.variant if is_split and missing.log.is_conda else ""
    last = newest_of_variant(named, missing) or ""
    is_mixed = _is_before(last, _WITHOUT_SPLIT)
    score = 0.62 if is_mixed else 0.75 if is_split else 0.92
    yield search.candidate(CauseId.BUILT_FOR_OLDER_TORCH, score, fix, form="cuda-11" if is_split else "")
    if is_split:
        others = ["Builds of the same release differ: CUDA 11 builds ship it; CUDA 10.2 builds and conda-forge do not."]
        way = _LIST_TORCH
        if is_mixed:
            others.insert(0, f"The text names {named}, of which torch {last} is the last: torch is of another source.")
            way = "\n".join((way, *_of_split_torch(missing).splitlines()[-1:]))
        yield search.candidate(CauseId.DISTRIBUTION_VARIANT, 0.78 if is_mixed else 0.65, way, *others)
    if shipped.first != missing.known_versions[0]:
        before = f"Your torch may be older than {shipped.first}, the first release that ships it."
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.6, (before, *search.evidence), fix)


def _of_split_torch(missing: MissingName) -> str:
    """How to install the extension for the CUDA of a torch that may be older than 2.0."""
    package = package_commands.find_package(missing)
    rows = () if package is None else rows_of(package, missing)
    row = next((each for each in rows if "{variant}" in each.install and _OF_SPLIT in each.variants), None)
    if package is None or row is None:
        return f"{_SAME_CUDA}\n"
    torch, known = patch_release(_OF_SPLIT), row.variants[_OF_SPLIT]
    variant = missing.log.variant if missing.log.variant in known else known[-1]
    command = published_wheel(row, package, torch, variant, missing).command
    return f"{_SAME_CUDA}:\n{command}  # for torch {torch}+{variant}: replace with yours\n"


def _of_package(missing: MissingName) -> str:
    """The commands that install the build of the package for this torch; empty if the package is not in the
    catalogue."""
    package = package_commands.find_package(missing)
    return "" if package is None else "\n".join(package_commands.install(package, missing))


def _not_in_cpu_build(search: _Search) -> tuple[float, Candidate]:
    """All releases ship it, in builds for a GPU; the target is unknown."""
    name, score, remaining = search.name, 0.7, 0.9
    other = "a build for the CPU or for ROCm" if search.accelerator == "CUDA" else "a build for another device"
    why = f"The installed torch is probably {other}, which does not contain it."
    if search.at_link_time:
        score, remaining = 0.75, 0.79
        why = f"If c10 and torch_cpu are found, torch is {other}, which does not contain it."
    if not search.at_link_time and not search.of_program and _stands_behind_base(name, search.missing):
        score, remaining = 0.92, 0.6
        if search.missing.file.facts is None and name.lower().endswith((".dll", ".pyd")):
            score = 0.78  # Windows does not show the order
        else:
            why = (
                f"The loader found {_BASE}, which comes first in the needed libraries of an extension: torch is "
                f"loaded, and is probably {other}."
            )
    fix = torch_fixes.build_for(search.accelerator or "", search.missing)
    of_loader = search.missing.file.facts is None and not search.at_link_time
    form = "not-found" if of_loader and search.accelerator == "CUDA" else ""
    if form and fix.startswith("pip install") and not (is_on_windows(search.missing) or search.missing.log.gpu):
        fix = f"{_WHICH_BUILD}\n{fix}"
    return remaining, search.candidate(CauseId.CUDA_BUILD_REQUIRED, score, fix, why, form=form)


def _no_known_build(missing: MissingName) -> str:
    return f"No known torch build ({missing.known_versions[0]}-{missing.known_versions[-1]}) ships it"


def _not_beside_program(search: _Search, score: float) -> Candidates:
    """The library is not beside a program without Python."""
    file = search.missing.file
    is_program = file.is_program
    program = find_program(search.missing)
    yield from row_causes(
        "torch-library-not-beside-program",
        search.missing,
        commands={"library_path": "" if program is None else program.library_path},
        evidence=search.evidence,
        score=min(score, 0.8),
        file=file.base_name if is_program else file.file_name,
        kind="unknown" if file.path in ("", A_PROGRAM) else "program" if is_program else "library",
        suffix=_suffix(search.name),
    )


def _not_loaded(search: _Search, score: float) -> Candidates:
    """torch was not imported before the extension, or is not installed."""
    name, missing, target = search.name, search.missing, search.missing.target
    loads = "`import torch` loads it; the file then uses the loaded copy."
    told = (loads,) if target is None or target.kind is not TorchKind.INSTALLED else ()
    evidence = (*search.evidence, *told)
    if name == "libtorch.so" and target is None and missing.file.facts is None:
        # Of 243 published files that need it, 99 need it first: those linked by CMake.
        # It may be linked with the library of a torch that was in another folder or of another release.
        packaged = package_commands.find_package(missing) is not None
        yield from row_causes("libtorch-of-cmake-not-found", missing, evidence=evidence, packaged=packaged)
    if not missing.file.path and not missing.reference.bare and name.lower().endswith((".dylib", ".dll")):
        # The file that needs it is cut off: glibc alone names no file of an extension module.
        score = min(score, 0.78)
    module, suffix = missing.file.module, _suffix(name)
    yield from row_causes(
        "torch-library-not-loaded", missing, evidence=evidence, score=score, module=module, suffix=suffix
    )
    if not missing.knowledge.target_from_source:
        yield from row_causes("torch-not-installed", missing, evidence=search.evidence[:1], score=score - 0.35)


def _suffix(name: str) -> str:
    return next((suffix for suffix in ("dll", "dylib") if name.lower().endswith(f".{suffix}")), "so")


def _stands_behind_base(name: str, missing: MissingName) -> bool:
    """Whether torch's base library is searched first. `torch.utils.cpp_extension` links c10 first, and the loader
    searches needed libraries in order."""
    if missing.file.facts is None:
        return True
    needed = list(missing.file.needed)
    return name in needed and any(is_torch_library(before) for before in needed[: needed.index(name)])


def _is_before(version: str, first: str) -> bool:
    at, since = versions.order(version), versions.order(first)
    return at is not None and since is not None and at < since


def is_of_server(missing: MissingName) -> bool:
    """Whether a server without Python loads the file, or the text is about one, which has libtorch in its folder."""
    program = find_program(missing)
    return program is not None and (bool(program.library_path) or missing.log.program == program.id == "c++")


def is_of_program(file: ReferringFile) -> bool:
    """Whether the file is a program, or a library outside of Python's packages that is no extension module."""
    in_package = "site-packages" in file.path or "dist-packages" in file.path
    is_module = re.search(_EXTENSION_MODULE, file.base_name) is not None
    return file.is_program or ("." in file.base_name and not is_module and not in_package)
