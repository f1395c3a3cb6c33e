"""Packages to install before a build without isolation, by the release of torch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from abiscan.model import versions

# setuptools before 70.1 needs `wheel`.
_TOOLS: Final = ("setuptools", "wheel", "ninja")
# First torch that works with newer releases -> the requirement for an older torch, and the package that it is for.
# torch.utils.cpp_extension before 2.2 imports pkg_resources.packaging, which setuptools 70 removed. torch before 2.3
# was compiled with NumPy 1, and cannot use NumPy 2 (https://github.com/pytorch/pytorch/releases/tag/v2.3.0).
_LIMITS: Final = {"setuptools": ((2, 2), '"setuptools<70"'), "numpy": ((2, 3), '"numpy<2"')}


def install_tools(torch: str, more: Iterable[str]) -> str:
    """The command that installs the build tools for a torch (empty: unknown), and `more`, requirements of pip: one of
    the same package replaces the tool."""
    tools = {each.partition("<")[0]: f'"{each}"' if "<" in each else each for each in (*_TOOLS, *more)}
    return f"pip install -U {' '.join(_limited(name, torch) or each for name, each in tools.items())}"


def install_imports(imports: Iterable[str], torch: str) -> str:
    """The command that installs what an extension imports, without an upgrade of NumPy that torch cannot use; empty if
    it imports nothing."""
    names = [*dict.fromkeys(imports)]
    return f"pip install {' '.join((*names, *filter(None, [_limited('numpy', torch)])))}" if names else ""


def notes_for_unknown(torch: str, imports: Iterable[str]) -> Iterator[str]:
    """What an older torch needs, where its release is unknown."""
    if versions.order(torch) is None:
        yield f"torch before 2.2 needs {_LIMITS['setuptools'][1]}"
        if any(True for _ in imports):
            yield f"before 2.3 {_LIMITS['numpy'][1]}"


def _limited(package: str, torch: str) -> str | None:
    release = versions.order(torch)
    if package not in _LIMITS or release is None:
        return None
    first, requirement = _LIMITS[package]
    return requirement if release[:2] < first else None
