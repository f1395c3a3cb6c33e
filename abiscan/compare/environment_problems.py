"""What is wrong with the torch of an environment itself, and what of an environment is not looked at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from abiscan.environment.installed_torch import find_torches
from abiscan.environment.python import PythonEnvironment
from abiscan.filesystem import HERE, FileSystem
from abiscan.inputs.distributions import Distribution, shared_objects_below
from abiscan.model.environment_report import Problem, ProblemKind
from abiscan.model.python_version import PythonVersion
from abiscan.releases.pythons import installable
from abiscan.wheel.requirement_lines import normal_name


def torch_problems(
    environment: PythonEnvironment, packages: Iterable[Distribution], version: str | None
) -> Iterator[Problem]:
    """Several torches on the path, or records of another one than is there.

    Args:
        version: of the torch that `import` takes, with its label; None where there is none.
    """
    roots = find_torches(environment)
    if len(roots) > 1:
        text = (
            f"{len(roots)} torches are on the path: `import torch` takes {roots[0]}, and hides {', '.join(roots[1:])}"
        )
        yield Problem(ProblemKind.SEVERAL_TORCHES, text)
    for package in packages:
        if normal_name(package.name) != "torch" or version is None:
            continue
        records = (package.version, *package.hides)
        if package.version.partition("+")[0] != version.partition("+")[0] or (package.hides and len(roots) == 1):
            text = f"the torch in {roots[0]} is {version}; installed by the records: {', '.join(records)}"
            yield Problem(ProblemKind.DAMAGED_TORCH, text)


def no_wheels(environment: PythonEnvironment, torch: str, known: Sequence[str]) -> Iterator[Problem]:
    """The release has no wheels for the environment's CPython."""
    version = environment.version
    if version is None or torch not in known:
        return
    if torch not in installable(known, PythonVersion(version.major, version.minor)):
        yield Problem(ProblemKind.NO_WHEELS, f"torch {torch} has no wheels for CPython {version}")


def editable(packages: Iterable[Distribution], files: FileSystem = HERE) -> Iterator[Problem]:
    """Packages that are imported from a source tree with shared objects, which no record lists."""
    for package in packages:
        directory = package.editable
        if directory is not None and not package.shared_objects and shared_objects_below(directory, files):
            text = f"{package.name} is installed in editable mode and not looked at: abiscan {directory}"
            yield Problem(ProblemKind.EDITABLE, text)
