"""The setting of one file: what it declares, what the command line says and what is installed, put together."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from abiscan.environment.python_names import known_versions
from abiscan.model.python_version import PythonVersion
from abiscan.model.setting import Setting, Source, Stated
from abiscan.releases.pythons import installable
from abiscan.setting.declared import Declared
from abiscan.setting.target_torch import TargetTorch


class FileSetting(Struct, frozen=True):
    """What one file is judged in.

    Attributes:
        torch: with its exports; None where no known build is what the file is made for.
        setting: the same for the report.
        pythons: the CPythons whose names must serve the file, all of them; none where the interpreter of the installed
            torch serves it, or where nobody says which.
        note: what a user should know about the choice of the torch; empty where there is nothing to say.
    """

    torch: TargetTorch | None
    setting: Setting
    pythons: tuple[PythonVersion, ...] = ()
    note: str = ""


def setting_of(
    declared: Declared,
    torch: TargetTorch | None,
    stated: Stated,
    here: PythonVersion | None,
    releases: Sequence[str],
    *,
    python_named: bool,
    note: str = "",
) -> FileSetting:
    """Put a setting together.

    Args:
        torch, stated: the build that was chosen, and who says so.
        here: the CPython of the environment that is looked at.
        releases: every known release for the file's architecture, oldest first.
        python_named: the environment was named on the command line, so that its CPython counts whatever is declared.
    """
    python, pythons = _python(declared, torch, here, releases, python_named=python_named)
    if declared.glibc is not None and (torch is None or not torch.installed):
        oldest = f"glibc {declared.glibc[0]}.{declared.glibc[1]}"
        system = Stated(oldest, Source.TAG, "the oldest that the wheel's platform tag promises")
    elif torch is not None and torch.installed:
        system = Stated("this machine's", Source.MACHINE, "the torch is installed here")
    else:
        system = None
    return FileSetting(torch, Setting(stated, python, _gpu(torch), system), pythons, note)


def _gpu(torch: TargetTorch | None) -> Stated | None:
    if torch is None:
        return None
    target = torch.target
    value = f"CUDA {target.cuda}" if target.cuda else f"ROCm {target.hip}" if target.hip else "none"
    return Stated(value, Source.BUILD, f"what torch {target.torch}+{target.variant} is built with")


def _python(
    declared: Declared,
    torch: TargetTorch | None,
    here: PythonVersion | None,
    releases: Sequence[str],
    *,
    python_named: bool,
) -> tuple[Stated | None, tuple[PythonVersion, ...]]:
    installed = torch is not None and torch.installed
    if here is not None and python_named:
        return Stated(str(here), Source.COMMAND_LINE, "--python"), () if installed else (here,)
    if not declared.pythons:
        if here is None:
            return None, ()
        return Stated(str(here), Source.ENVIRONMENT, "the file declares no Python"), () if installed else (here,)
    first = declared.pythons[0]
    stated = Stated(", ".join(dict.fromkeys(p.text for p in declared.pythons)), first.source, first.because)
    if installed and here is not None and any(p.admits(here) for p in declared.pythons):
        return stated, ()
    release = None if torch is None else torch.target.torch
    known = [
        version
        for version in known_versions()
        if any(p.admits(version) for p in declared.pythons)
        and declared.admits_python(version)
        and _has_wheels(version, release, releases)
    ]
    # An exact version that the table lacks is asked for all the same: nothing is then known of its names.
    return stated, tuple(known) or tuple(p.oldest for p in declared.pythons if not p.later)


def _has_wheels(version: PythonVersion, release: str | None, releases: Sequence[str]) -> bool:
    """Whether an installer can put the release beside a file for that CPython at all."""
    if version.major < 3:
        return False
    return release not in releases or release in installable(releases, PythonVersion(version.major, version.minor))
