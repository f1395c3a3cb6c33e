"""The torch of a run: the installed one, a released build, or one given by its path."""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from abiscan.environment.installed_torch import InstalledTorch, find_torches, read_torch
from abiscan.environment.python import PythonEnvironment
from abiscan.errors import AbiscanError, UnknownBuild, UnreadableFile
from abiscan.filesystem import FileSystem
from abiscan.model.target import TorchBuild, TorchKind
from abiscan.model.versions import is_version
from abiscan.releases import Build, ReleaseIndex
from abiscan.releases.build import has_the_new_string
from abiscan.target.target_request import TargetRequest

# The architecture of a version before a file is read.
FALLBACK_MACHINE = "x86_64"


class RunTorch(Struct, frozen=True):
    """The torch that a run resolves imports against.

    Attributes:
        installed: its place on disk; None for a released build.
        build: its entry in the index, for a released build or a wheel.
        index: the index that contains `build`, if it is another than that of the run: of a wheel or archive, or with
            the earlier releases.
        notes: notes on the choice for the user, about the whole run.
        spec: the version that the user gave; its label counts for files of other architectures too.
    """

    target: TorchBuild
    installed: InstalledTorch | None
    build: Build | None
    notes: tuple[str, ...] = ()
    index: ReleaseIndex | None = None
    spec: str | None = None


def find_run_torch(
    request: TargetRequest,
    index: Callable[[], ReleaseIndex],
    machine: str,
    *,
    full_index: Callable[[], ReleaseIndex] | None = None,
    read_archive: Callable[[str], ReleaseIndex] | None = None,
    anywhere: bool = False,
) -> RunTorch:
    """Find the torch that `--torch SPEC` means.

    Args:
        request: its `torch` is a version; the path of a torch, a libtorch or a torch wheel; `installed`; `declared`
            for the newest build of the index (`find_declared_release` handles the declarations of files); None for the
            installed torch, else the newest build.
        index: opens the release index; called only if needed.
        full_index: opens the one with the earlier releases, for versions before those of `index`.
        machine: architecture of a version.
        read_archive: indexes a torch wheel or libtorch archive, by its path.
        anywhere: whether a version with a label may be one that only other architectures have.

    Raises:
        UnknownBuild: there is no such torch; the message lists the known ones.
    """
    spec, environment, files = request.torch, request.environment, request.files
    if spec in (None, "installed", "declared"):
        found = find_torches(environment) if environment is not None and spec != "declared" else ()
        if found:
            return _installed(found, environment)
        where = "no Python environment was found" if environment is None else f"no torch in {environment.label}"
        if spec == "installed":
            raise UnknownBuild(f"{where}: pass --python ENVIRONMENT, or a release (--torch 2.6.0)")
        known = index()
        newest = known.newest(machine if known.builds(machine) else FALLBACK_MACHINE)
        if spec == "declared":
            return _released(newest, environment, None)
        note = (
            f"{where}: checked against torch {newest.torch}+{newest.variant}, the newest known; pass --torch to choose"
        )
        return _released(newest, environment, note)
    assert spec is not None
    if files.exists(spec) or os.sep in spec or spec.endswith(".whl"):
        if read_archive is not None and files.is_file(spec):
            return _archive(spec, environment, read_archive)
        return _by_path(spec, environment, files)
    try:
        return replace(_released(index().resolve(spec, machine, anywhere=anywhere), environment, None), spec=spec)
    except UnknownBuild:
        if full_index is None:
            raise
        return replace(_released(full_index().resolve(spec, machine), environment, None), index=full_index())


def _describe(
    torch: InstalledTorch | Build,
    kind: TorchKind,
    environment: PythonEnvironment | None,
    *,
    path: str | None = None,
    note: str | None = None,
) -> TorchBuild:
    return TorchBuild(
        kind=kind,
        version=torch.torch,
        variant=torch.variant,
        cuda=torch.cuda,
        hip=torch.hip,
        cxx11_abi=torch.cxx11_abi,
        path=path,
        note=note,
        machine=torch.machine,
        git_revision=torch.git_revision,
        python=None if environment is None else environment.launcher,
    )


def _installed(found: tuple[str, ...], environment: PythonEnvironment | None) -> RunTorch:
    torch = read_torch(found[0], environment)
    notes = []
    if len(found) > 1:
        others = ", ".join(_name(root, torch.files) for root in found[1:])
        notes.append(
            f"{len(found)} torches are on the path: `import torch` uses {torch.version} in {torch.root}, "
            f"and hides {others}"
        )
    return RunTorch(_describe(torch, TorchKind.INSTALLED, environment, path=torch.root), torch, None, tuple(notes))


def _name(root: str, files: FileSystem) -> str:
    try:
        return f"{read_torch(root, files=files).version} in {root}"
    except AbiscanError:
        return f"a damaged one in {root}"


def _by_path(path: str, environment: PythonEnvironment | None, files: FileSystem) -> RunTorch:
    if not files.exists(path):
        raise UnknownBuild(f"{path}: no torch found there")
    if files.is_file(path):
        raise UnknownBuild(
            f"{path}: a file, not a directory with torch; add a wheel with `abiscan releases add {path}`, then pass "
            "--torch VERSION"
        )
    # A path in the environment is the installed torch, so the loader can be predicted too.
    inside = environment is not None and any(files.real(root) == files.real(path) for root in find_torches(environment))
    try:
        torch = read_torch(path, environment if inside else None, files)
    except UnreadableFile as error:
        raise UnknownBuild(str(error)) from error
    kind = TorchKind.INSTALLED if inside else TorchKind.PATH
    return RunTorch(_describe(torch, kind, environment, path=torch.root), torch, None)


def _archive(path: str, environment: PythonEnvironment | None, read: Callable[[str], ReleaseIndex]) -> RunTorch:
    """A wheel or libtorch archive; its exports are indexed like those of a released build."""
    try:
        index = read(path)
    except AbiscanError as error:
        raise UnknownBuild(
            f"{error} (--torch takes an installed torch, a release, a folder or a torch wheel)"
        ) from error
    chosen = _released(index.builds()[0], environment, None)
    return replace(chosen, target=replace(chosen.target, kind=TorchKind.PATH, note=f"read from {path}"), index=index)


def _released(build: Build, environment: PythonEnvironment | None, note: str | None) -> RunTorch:
    return RunTorch(released_target(build, environment, note), None, build)


def released_target(build: Build, environment: PythonEnvironment | None, note: str | None = None) -> TorchBuild:
    """A released build, for the report."""
    return _describe(build, TorchKind.RELEASE, environment, note=note)


def named_release(spec: str) -> TorchBuild | None:
    """A target with a known version and unknown exports: `1.7.1`, `2.6.0+cu126`; None if the text is no version."""
    if not is_version(spec):
        return None
    public, _, local = spec.removeprefix("v").partition("+")
    public += ".0" if public.count(".") == 1 and public.replace(".", "").isdigit() else ""
    label = local.lower() or "unknown build"
    cuda = f"{label[2:-1]}.{label[-1]}" if label.startswith("cu") and label[2:].isdigit() else None
    return TorchBuild(
        kind=TorchKind.RELEASE,
        version=public,
        variant=label,
        cuda=cuda,
        hip=label.removeprefix("rocm") if label.startswith("rocm") else None,
        cxx11_abi=has_the_new_string(spec) or None,
        path=None,
        note=f"torch {spec} is not in the release index: its exports are inferred from the releases next to it",
    )
