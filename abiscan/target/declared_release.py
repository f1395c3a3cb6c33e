"""Selects the torch of a file: the installed one if it matches, else the newest release that the file declares."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.environment.installed_torch import InstalledTorch
from abiscan.environment.python import PythonEnvironment
from abiscan.model.target import TargetPart, TargetSource
from abiscan.model.versions import is_release
from abiscan.releases import Build, ReleaseIndex
from abiscan.releases.pythons import installable
from abiscan.target.declared import Declared
from abiscan.target.declared_pythons import DeclaredPython
from abiscan.target.file_target import TorchOfFile


def is_for_environment(
    declared: Declared,
    installed: InstalledTorch,
    environment: PythonEnvironment,
    machine: str,
    *,
    named: bool,
    alone: bool = False,
) -> bool:
    """Whether a file is made for the environment and its installed torch.

    Args:
        named: the file was given on the command line, or is in a build tree or an installed package. For a member of a
            wheel, requirements and tags must accept what is installed.
        alone: the file was given on the command line by itself, so only this environment counts.
    """
    if machine != installed.machine:
        return False
    if declared.torch is not None and not declared.torch.admits(installed.version):
        # A package may ship one folder per torch release; this folder is for another release.
        return alone or (named and declared.torch.source is not TargetSource.FOLDER)
    gpu = declared.gpu
    if (
        gpu is not None
        and gpu.source is TargetSource.FOLDER
        and not alone
        and not gpu.admits(installed.cuda, installed.hip)
    ):
        return False  # the same, for folders per CUDA release
    if gpu is not None and gpu.kind != "CUDA" and not (named or gpu.admits(None, installed.hip, installed.variant)):
        return False  # an installer chooses a torch for that accelerator
    python = environment.version
    if declared.other_python:
        return named
    return named or python is None or not declared.pythons or any(p.admits(python) for p in declared.pythons)


def find_declared_release(declared: Declared, index: ReleaseIndex, machine: str) -> TorchOfFile:
    """Find the newest known release that the file declares. Without a declaration: the newest known release with wheels
    for its Python.

    Raises:
        UnknownBuild: no build for this architecture is known.
    """
    newest = index.newest(machine)
    builds = [build for build in index.builds(machine) if is_release(build.torch)]
    releases = tuple(dict.fromkeys(build.torch for build in builds))
    candidates = _with_wheels(releases, declared.pythons)
    torch = declared.torch
    if torch is not None:
        admitted = [release for release in candidates if torch.admits_release(release)]
        if not admitted:
            where = torch.detected_from
            note = f"{where}: no known release of torch satisfies it ({releases[0]}-{releases[-1]} are known)"
            return TorchOfFile(None, TargetPart(", ".join(torch.specifiers), torch.source, where), note)
        source, detected_from, variant = torch.source, torch.detected_from, torch.variant
    else:
        admitted = list(candidates) or [newest.torch]
        source, detected_from, variant = (
            TargetSource.NEWEST_KNOWN,
            "no release of torch is declared: the newest known",
            None,
        )
        if admitted[-1] != newest.torch:
            detected_from += f" with wheels for Python {declared.pythons[0].text}"
    gpu = declared.gpu
    fitting = [build for build in builds if gpu is not None and gpu.admits(build.cuda, build.hip, build.variant)]
    if gpu is not None and gpu.kind != "CUDA" and gpu.source is not TargetSource.FOLDER and not fitting:
        note = f"{gpu.detected_from} names a build for {gpu.text}: the release index has none, so it was not checked"
        return TorchOfFile(None, TargetPart(gpu.text, gpu.source, gpu.detected_from), note, gpu)
    with_gpu = [release for release in admitted if any(build.torch == release for build in fitting)]
    if with_gpu:
        assert gpu is not None
        if with_gpu[-1] != admitted[-1]:
            detected_from += f"; {gpu.detected_from}: the newest with {gpu.text}"
        build = _build(fitting, with_gpu[-1], variant)
    else:
        build = _build([*builds, newest], admitted[-1], variant)
    assert build is not None
    other_gpu = gpu if gpu is not None and not gpu.admits(build.cuda, build.hip, build.variant) else None
    note = ""
    if variant is not None and build.variant != variant:
        note = f"{detected_from}: the release index has no {build.torch}+{variant}; checked against {_text(build)}"
    elif other_gpu is not None:
        note = (
            f"{other_gpu.detected_from}: the release index has no build of {build.torch} for {other_gpu.text}; checked "
            f"against the symbols of {_text(build)}"
        )
    return TorchOfFile(None, TargetPart(_text(build), source, detected_from), note, other_gpu, build)


def _with_wheels(releases: tuple[str, ...], pythons: Sequence[DeclaredPython]) -> tuple[str, ...]:
    """The releases with wheels for one of the file's Pythons."""
    exact = [python for python in pythons if not python.later]
    if not exact:
        return releases
    found = {release for python in exact for release in installable(releases, python.oldest)}
    return tuple(release for release in releases if release in found) or releases


def _build(builds: Sequence[Build], release: str, variant: str | None) -> Build | None:
    same = [build for build in builds if build.torch == release]
    exact = [build for build in same if build.variant == variant]
    return min(exact or same, key=lambda build: build.user, default=None)


def _text(build: Build) -> str:
    return f"{build.torch}+{build.variant}"
