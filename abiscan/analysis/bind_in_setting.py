"""The imports of one shared object, bound in the setting that it is judged in."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.siblings import exported_beside
from abiscan.binary import Binary
from abiscan.environment.python_names import exported_by
from abiscan.environment.python_names import exports as python_exports
from abiscan.inputs import Artifact
from abiscan.loader.bind_imports import FileBinding
from abiscan.mangling import string_abi
from abiscan.model.binding import BoundImport, LoaderStop, Owner, Status
from abiscan.model.setting import Source
from abiscan.ownership.gpu_libraries import fits_gpu
from abiscan.releases import Build
from abiscan.target.file_setting import FileSetting


def bind_in_setting(
    artifact: Artifact,
    binary: Binary,
    path: str,
    siblings: Mapping[str, Binary],
    *,
    judged_in: FileSetting,
    context: AnalysisContext,
) -> FileBinding:
    """Every import bound: in the process of the installed torch, or against a release by the index alone.

    Args:
        path: where a loader would find the file.
        siblings: path to contents of what the file needs of its own package.
    """
    torch = judged_in.torch
    versions = judged_in.pythons or judged_in.possible
    pythons = [python for version in versions if (python := python_exports(version)) is not None]
    if torch is not None and torch.installed and context.loader.serves(binary):
        binding = context.loader.bind(binary, path, siblings)
        if not judged_in.pythons:
            return binding
        from abiscan.loader.bind_release import with_pythons

        return with_pythons(binding, pythons)
    from abiscan.loader.bind_release import bind_to_release, with_providers

    # Where an environment here would have them is nothing of the release's: members are called by their place.
    root = path.removesuffix(os.path.normpath(artifact.place)) if artifact.member is not None else ""
    members = {place.removeprefix(root): each for place, each in siblings.items()}
    binding = bind_to_release(
        binary, members, None if torch is None else torch.exports, pythons, one_of=not judged_in.pythons
    )
    binding = _of_another_build(binding, judged_in, context.index_around(torch).builds(binary.machine))
    if artifact.member is None:
        return binding
    own = [b.name for b in binding.imports if b.status is Status.MISSING and b.owner in (Owner.SELF, Owner.OTHER)]
    beside = exported_beside(artifact, own) if own else {}
    return binding if not beside else with_providers(binding, beside)


def unfit_libraries(binding: FileBinding, judged_in: FileSetting) -> tuple[str, ...]:
    """The needed libraries of CUDA and ROCm that the torch brings in another version, or not at all, and that the
    machine of an installed one does not have either."""
    torch = judged_in.torch
    if torch is None or judged_in.of_file.other_gpu is not None:
        return ()
    if not torch.installed:
        return binding.unfit_libraries
    return tuple(name for name in binding.missing_libraries if not fits_gpu(name, torch.exports.brings))


def _of_another_build(binding: FileBinding, judged_in: FileSetting, builds: Sequence[Build]) -> FileBinding:
    """A binding with names left open that only a build of the release with the other std::string can have: the file's
    name says which release it is for, and the index may hold that with one std::string alone."""
    torch = judged_in.torch
    if torch is None or torch.build is None or judged_in.setting.torch is None:
        return binding
    missing = [b.name for b in binding.imports if b.owner is Owner.TORCH and b.status is Status.MISSING]
    if judged_in.setting.torch.source is not Source.FOLDER or not missing:
        return binding
    known = {build.cxx11_abi for build in builds if build.torch == torch.target.torch}
    # A function that returns a string has a tag in its name alone.
    wanted = {string_abi(name) or ("new" if "B5cxx11" in name else None) for name in missing}
    if len(wanted) != 1 or known != {"new" not in wanted}:
        return binding
    imports = tuple(
        replace(b, status=Status.UNDECIDED) if b.owner is Owner.TORCH and b.status is Status.MISSING else b
        for b in binding.imports
    )
    return replace(binding, imports=imports)


def not_of_torch(
    imports: Sequence[BoundImport], judged_in: FileSetting, problem: LoaderStop | str | None
) -> Callable[[Build], str]:
    """Why a file fails on a release for what is not torch's, in a word; empty where it does not: no glibc loads it, or
    a CPython that it promises beside that release lacks a name."""
    if isinstance(problem, LoaderStop):
        return lambda _build: "damaged"
    names = [b.name for b in imports if b.owner is Owner.PYTHON and b.status is not Status.WEAK]

    def otherwise(build: Build) -> str:
        for version in judged_in.pythons_beside(build.torch) if names else ():
            exported = python_exports(version)
            if exported is not None and not all(map(exported, names)):
                return f"CPython {version}"
        possible = judged_in.possible_beside(build.torch) if names else ()
        if possible and any(not set(possible) & set(exported_by(name)) for name in names):
            return "CPython"
        return ""

    return otherwise
