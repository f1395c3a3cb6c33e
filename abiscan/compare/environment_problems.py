"""Problems with the torch of an environment, and parts of the environment that are not checked."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence

from abiscan.environment.installed_torch import find_torches
from abiscan.environment.python import PythonEnvironment
from abiscan.inputs.distributions import Distribution
from abiscan.model.environment_report import Problem, ProblemKind
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild
from abiscan.releases.pythons import installable
from abiscan.wheel.requirement_lines import normal_name, required_name


def pip_command(environment: PythonEnvironment, packages: Iterable[Distribution]) -> str:
    """The install command of an environment, without requirements."""
    if environment.launcher is None:
        return f"pip install --target {shlex.quote(environment.prefix)}"
    python = shlex.quote(environment.launcher)
    if any(normal_name(package.name) == "pip" for package in packages):
        return f"{python} -m pip install"
    return f"pip --python {python} install"


def torch_problems(
    environment: PythonEnvironment, packages: Iterable[Distribution], version: str | None
) -> Iterator[Problem]:
    """Several torches on the path, or metadata of another torch than the installed one.

    Args:
        version: version with label of the torch that `import` finds; None if there is none.
    """
    roots = find_torches(environment)
    if len(roots) > 1:
        text = f"{len(roots)} torches are on the path: `import torch` uses {roots[0]} and hides {', '.join(roots[1:])}"
        yield Problem(ProblemKind.SEVERAL_TORCHES, text)
    for package in packages:
        if normal_name(package.name) != "torch" or version is None:
            continue
        records = (package.version, *package.hides)
        if package.version.partition("+")[0] != version.partition("+")[0] or (package.hides and len(roots) == 1):
            text = f"the torch in {roots[0]} is {version}; the installed metadata says {', '.join(records)}"
            yield Problem(ProblemKind.DAMAGED_TORCH, text)


def failing_torch(
    failure: str | None, version: str, pip: str, source_build: TorchBuild | None, strangers: Sequence[str] = ()
) -> Iterator[Problem]:
    """The torch cannot be imported; `failure` is the loader's error, `strangers` are libraries that are loaded in place
    of those of torch. No command installs a source build."""
    if failure is not None:
        command = "" if source_build is not None else f"{pip} torch=={version.partition('+')[0]}"
        yield Problem(ProblemKind.TORCH_FAILS, failure, "unset LD_LIBRARY_PATH LD_PRELOAD" if strangers else command)


def missing_requirements(packages: Sequence[Distribution], version: str, pip: str) -> Iterator[Problem]:
    """Requirements of torch that are not installed: `import torch` may fail. CUDA libraries are left to the loader
    prediction, because torch requires them on some systems only."""
    names = {normal_name(package.name) for package in packages}
    torch = next((package for package in packages if normal_name(package.name) == "torch"), None)
    lines = () if torch is None else torch.requires_dist
    wanted = {name: line for line in lines if ";" not in line and (name := required_name(line)) is not None}
    absent = [name for name in wanted if name not in names]
    if absent:
        text = f"torch {version} requires {', '.join(absent)}, not installed here: `import torch` may fail"
        what = (shlex.quote(_pinned(name, wanted[name])) for name in absent)
        yield Problem(ProblemKind.MISSING_REQUIREMENTS, text, f"{pip} {' '.join(what)}")


def _pinned(name: str, line: str) -> str:
    """The requirement with its versions, if it has nothing else: `sympy>=1.13.3`."""
    versions = line.removeprefix(name).replace(" ", "").strip("()")
    return f"{name}{versions}" if re.fullmatch(r"[<>=!~][\w.*+,<>=!~]{0,64}", versions) else name


def no_wheels(environment: PythonEnvironment, torch: str, known: Sequence[str]) -> Iterator[Problem]:
    """The release has no wheels for the CPython of the environment."""
    version = environment.version
    if version is None or torch not in known:
        return
    if torch not in installable(known, PythonVersion(version.major, version.minor)):
        yield Problem(ProblemKind.NO_WHEELS, f"torch {torch} has no wheels for CPython {version}")
