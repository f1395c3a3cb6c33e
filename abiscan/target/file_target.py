"""The target environment of one file, each part with its source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.environment.python_names import exporting_all, known_versions
from abiscan.model.platforms import OperatingSystem, platform_of, system_of
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TargetEnvironment, TargetPart, TargetSource
from abiscan.releases import Build
from abiscan.releases.pythons import installable
from abiscan.target.declared import Declared, DeclaredGpu
from abiscan.target.target_request import TargetRequest
from abiscan.target.torch_exports import TargetTorch


class PythonsOfRelease(Struct, frozen=True):
    """The CPythons to check for each torch release.

    Attributes:
        declared: what the file declares.
        exact: the CPython for all releases; None to use the declared ones.
        releases: every known release for the file's architecture, oldest first.
    """

    declared: Declared
    exact: PythonVersion | None
    releases: tuple[str, ...]

    def for_release(self, release: str | None) -> tuple[PythonVersion, ...]:
        """The declared CPythons with wheels for the release; all declared ones for an unknown release."""
        if self.exact is not None:
            return (self.exact,)
        pythons = self.declared.pythons
        if not pythons:
            return ()
        known = tuple(v for v in self._installable(release) if any(p.admits(v) for p in pythons))
        # An exact version that is not in the table is returned too; its exports are unknown.
        return known or tuple(p.oldest for p in pythons if not p.later)

    def possible(self, release: str | None) -> tuple[PythonVersion, ...]:
        """The CPythons with wheels for the release, if neither the file nor the user names one."""
        if self.exact is not None or self.declared.pythons or self.declared.other_python:
            return ()
        return tuple(version for version in self._installable(release) if not version.free_threaded)

    def _installable(self, release: str | None) -> Iterator[PythonVersion]:
        for version in known_versions():
            if self.declared.admits_python(version) and self._has_wheels(version, release):
                yield version

    def _has_wheels(self, version: PythonVersion, release: str | None) -> bool:
        if version.major < 3:
            return False
        minor = PythonVersion(version.major, version.minor)
        return release not in self.releases or bool(installable((release,), minor))


def importing_pythons(declared: Declared, names: Sequence[str]) -> tuple[PythonVersion, ...] | None:
    """The known CPythons 3 that a file declares and that export all CPython symbols it uses, oldest first. None if it
    declares no CPython and uses none of its symbols.

    Args:
        names: strong CPython imports.
    """
    if not declared.pythons and not names and not declared.requires_python:
        return None
    exporting = exporting_all(names)
    known = known_versions()
    found = [
        version
        for version in known
        if version.major >= 3
        and version in exporting
        and (not declared.pythons or any(python.admits(version) for python in declared.pythons))
        and declared.admits_python(version)
    ]
    # Only the declaration is known about a version that is not in the table.
    found += [p.oldest for p in declared.pythons if not p.later and p.oldest not in known]
    return tuple(sorted(found))


class TorchOfFile(Struct, frozen=True):
    """The torch that one file is checked against.

    Attributes:
        torch: with its exports; None if no known build satisfies the declaration.
        note: note on the choice for the user; empty if there is none.
        other_gpu: the declared accelerator, if the release has no known build for it. The symbols of `torch` are used
            for it, but not its CUDA libraries.
        build: the released build that the file declares, if that decides.
    """

    torch: TargetTorch | None
    part: TargetPart
    note: str = ""
    other_gpu: DeclaredGpu | None = None
    build: Build | None = None

    @property
    def has_no_known_build(self) -> bool:
        """Whether no release has a known build for the declared accelerator, so that other builds say nothing."""
        return self.torch is None and self.other_gpu is not None


class FileTarget(Struct, frozen=True):
    """The environment that one file is checked against.

    Attributes:
        declared: what the file declares.
        of_file: the torch, with its exports.
        environment: the same for the report.
        pythons: the CPythons that must all export the file's symbols; empty if the interpreter of the installed torch
            is checked, or if no CPython is named.
        possible: the CPythons that are possible if none is named.
        release_pythons: the CPythons to check for each other release.
    """

    declared: Declared
    of_file: TorchOfFile
    environment: TargetEnvironment
    pythons: tuple[PythonVersion, ...] = ()
    possible: tuple[PythonVersion, ...] = ()
    release_pythons: PythonsOfRelease | None = None

    @property
    def torch(self) -> TargetTorch | None:
        """The torch that the file is checked against."""
        return self.of_file.torch

    def pythons_for(self, release: str) -> tuple[PythonVersion, ...]:
        """The CPythons that must all export the file's symbols with a torch release."""
        return () if self.release_pythons is None else self.release_pythons.for_release(release)

    def possible_pythons_for(self, release: str) -> tuple[PythonVersion, ...]:
        """The CPythons that are possible with a torch release if none is named."""
        return () if self.release_pythons is None else self.release_pythons.possible(release)


def target_with(
    declared: Declared,
    chosen: TorchOfFile,
    request: TargetRequest,
    here: PythonVersion | None,
    *,
    releases: tuple[str, ...],
    machine: str,
) -> FileTarget:
    """The target environment of a file with a torch.

    Args:
        here: the CPython of the environment.
        releases: every known release for the file's architecture, oldest first.
        machine: key of its platform.
    """
    torch = chosen.torch
    installed = torch is not None and torch.installed
    named = here if request.python_named or not (declared.pythons or declared.other_python) else None
    release_pythons = PythonsOfRelease(declared, named, releases)
    is_linux = system_of(machine) is OperatingSystem.LINUX
    # An interpreter for another system is not opened: its exports are those of the table.
    served = (
        installed
        and is_linux
        and here is not None
        and (named is not None or any(p.admits(here) for p in declared.pythons))
    )
    release = None if torch is None else torch.target.version
    pythons = () if served else release_pythons.for_release(release)
    possible = () if served else release_pythons.possible(release)
    environment = TargetEnvironment(
        torch=chosen.part,
        # The notes of the run cover these.
        torch_build=None if torch is None else replace(torch.target, note=None, python=None),
        python=_python(declared, here, python_named=request.python_named),
        gpu=_gpu(chosen),
        platform=_platform(declared, machine, is_installed=installed),
        device=_device(request.gpus),
        driver=request.driver,
    )
    return FileTarget(declared, chosen, environment, pythons, possible, release_pythons)


def _platform(declared: Declared, machine: str, *, is_installed: bool) -> TargetPart | None:
    if system_of(machine) is not OperatingSystem.LINUX:
        shown = platform_of(machine).shown
        return TargetPart(shown, TargetSource.FILE, "the format and architecture of the file")
    if is_installed:
        return TargetPart("this machine's", TargetSource.MACHINE, "the torch is installed here")
    if declared.glibc is None:
        return None
    return TargetPart(f"glibc {declared.glibc[0]}.{declared.glibc[1]}", TargetSource.TAG, "from the platform tag")


def _device(gpus: Sequence[TargetPart]) -> TargetPart | None:
    if len(gpus) < 2:
        return next(iter(gpus), None)
    return TargetPart(
        ", ".join(g.value for g in gpus), gpus[0].source, ", ".join(dict.fromkeys(g.detected_from for g in gpus))
    )


def _gpu(chosen: TorchOfFile) -> TargetPart | None:
    if chosen.torch is None:
        return None
    if chosen.other_gpu is not None:
        return TargetPart(chosen.other_gpu.text, chosen.other_gpu.source, chosen.other_gpu.detected_from)
    target = chosen.torch.target
    value = f"CUDA {target.cuda}" if target.cuda else f"ROCm {target.hip}" if target.hip else "none"
    return TargetPart(value, TargetSource.BUILD, f"from torch {target.version}+{target.variant}")


def _python(declared: Declared, here: PythonVersion | None, *, python_named: bool) -> TargetPart | None:
    if here is not None and python_named:
        return TargetPart(str(here), TargetSource.COMMAND_LINE, "--python")
    if not declared.pythons:
        return (
            None
            if here is None or declared.other_python
            else TargetPart(str(here), TargetSource.ENVIRONMENT, "this environment; the file declares none")
        )
    first = declared.pythons[0]
    return TargetPart(", ".join(dict.fromkeys(p.text for p in declared.pythons)), first.source, first.detected_from)
