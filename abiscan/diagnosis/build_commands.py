"""Commands that build a package from source for the target's torch."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from abiscan.diagnosis.catalogue.load_packages import packages_by_name
from abiscan.diagnosis.catalogue.package_row import Package
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.wheel_rows import platform_of
from abiscan.model import versions

# Requirements of a build without isolation; setuptools before 70.1 needs `wheel`.
_BUILD_TOOLS: Final = ("setuptools", "wheel", "ninja")
# Before this release, torch.utils.cpp_extension imports pkg_resources.packaging, which setuptools 70 removed.
_WITHOUT_PKG_RESOURCES: Final = (2, 2)
_OLD_SETUPTOOLS: Final = '"setuptools<70"'
BUILD: Final = "pip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps"
_FORCE_CUDA: Final = "FORCE_CUDA=1"


def build(package: Package, missing: MissingName, others: Iterable[str] = ()) -> str | None:
    """The command that builds it for the installed torch; None if pip cannot get its source.

    Args:
        others: packages to build with the same command; those with other build requirements are omitted.
    """
    if package.command:
        return package.command
    if not package.sdist and not package.repository:
        return None
    gpu, environment = _is_for_gpu(missing), environment_of(package, missing)
    built = [package]
    if package.sdist:
        known = (packages_by_name().get(name) for name in others)
        built += (each for each in known if each is not None and _is_built_alike(each, package))
        names = dict.fromkeys(each.name for each in built)
        release = f"--no-binary {','.join(names)} {' '.join(names)}"
    else:
        release = f'"git+{package.repository}"'
    command = " ".join((*environment, BUILD, release))
    notes = []
    if gpu:
        cuda = None if missing.target is None else missing.target.cuda
        major = "the CUDA major release of torch.version.cuda" if cuda is None else f"CUDA {cuda.partition('.')[0]}"
        notes.append(f"CUDA sources need nvcc of {major}")
        if cuda is None and _FORCE_CUDA in environment:
            notes.append(f"leave out {_FORCE_CUDA} for a CPU build of torch")
    imports = (name for each in built for name in each.imports)
    return with_build_tools(command, missing, notes, (*package.requires, *imports))


def environment_of(package: Package, missing: MissingName) -> tuple[str, ...]:
    """The variables for a complete build of the package for the target."""
    return tuple(each for each in package.environment if _is_for_gpu(missing) or each != _FORCE_CUDA)


def _is_for_gpu(missing: MissingName) -> bool:
    return (missing.target is None or missing.target.variant != "cpu") and platform_of(missing) != "macosx"


def _is_built_alike(other: Package, package: Package) -> bool:
    return other.sdist and (other.environment, other.requires) == (package.environment, package.requires)


def with_build_tools(command: str, missing: MissingName, notes: Iterable[str], more: Iterable[str] = ()) -> str:
    """The command that installs the requirements of a build without isolation, the build and a comment, in one line.

    Args:
        notes: parts of the comment.
        more: further requirements of the project.
    """
    release = None if missing.target is None else versions.order(missing.target.version)
    tools = dict.fromkeys((*_BUILD_TOOLS, *more))
    notes = list(notes)
    if release is not None and release[:2] < _WITHOUT_PKG_RESOURCES:
        tools = dict.fromkeys(_OLD_SETUPTOOLS if each == "setuptools" else each for each in tools)
    elif release is None:
        notes.append(f"torch before 2.2 needs {_OLD_SETUPTOOLS}")
    comment = f"  # {'; '.join(notes)}" if notes else ""
    return f"pip install -U {' '.join(tools)} && {command}{comment}"
