"""Problems of an environment: with its torch, several copies of a runtime, libraries that LD_LIBRARY_PATH shadows."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

from abiscan.compare.file_outcome import FileOutcome
from abiscan.environment.installed_torch import find_torches
from abiscan.environment.python import PythonEnvironment
from abiscan.inputs.distributions import Distribution
from abiscan.loader.search import searched_folders
from abiscan.model.environment_report import Problem, ProblemKind
from abiscan.model.loading import LoaderStop, StopKind
from abiscan.model.python_version import PythonVersion
from abiscan.model.target import TorchBuild
from abiscan.ownership.vendors import library_stem
from abiscan.releases.pythons import installable
from abiscan.releases.torch_indexes import index_of_version
from abiscan.wheel.requirement_lines import normal_name, required_name

# Libraries that a process should load once, by kind. All OpenMP runtimes are of one kind
# (https://github.com/joblib/threadpoolctl/blob/master/multiple_openmp.md).
_RUNTIMES = {
    "cudart": "CUDA runtime",
    "amdhip64": "HIP runtime",
    "nccl": "NCCL",
    "gomp": "OpenMP runtime",
    "iomp5": "OpenMP runtime",
    "omp": "OpenMP runtime",
}
_HASH = re.compile(r"[-.][0-9a-f]{8}(?=\.so)")


def pip_command(environment: PythonEnvironment, packages: Iterable[Distribution]) -> str:
    """The install command of an environment, without requirements."""
    if environment.launcher is None:
        # Without --upgrade, pip keeps the folders that are there.
        return f"pip install --upgrade --target {shlex.quote(environment.prefix)}"
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
    failure: str | None,
    version: str,
    pip: str,
    source_build: TorchBuild | None,
    *,
    stop: LoaderStop | None = None,
    strangers: Sequence[str] = (),
    absent: Mapping[str, str] = {},
) -> Iterator[Problem]:
    """The torch cannot be imported. No command installs a source build, or a newer system.

    Args:
        failure: the loader's error.
        strangers: libraries that are loaded in place of others.
        absent: what `absent_requirements` returns.
    """
    if failure is None:
        return
    index = index_of_version(version)
    # pip keeps a torch of that release, whatever it lacks.
    command = f"{pip} --force-reinstall torch=={version.partition('+')[0]}{f' --index-url {index}' if index else ''}"
    if strangers:
        command = "unset LD_LIBRARY_PATH LD_PRELOAD"
    elif stop is not None and stop.kind is StopKind.MODULE_NOT_FOUND:
        # pip keeps an installed package, even without its modules.
        lacks = normal_name(stop.detail) in map(normal_name, absent)
        command = f"{pip} {' '.join(absent.values()) if lacks else f'--force-reinstall {stop.detail}'}"
    elif source_build is not None or (stop is not None and stop.kind is StopKind.VERSION_NOT_FOUND):
        command = ""
    yield Problem(ProblemKind.TORCH_FAILS, failure, command)


def absent_requirements(packages: Iterable[Distribution]) -> dict[str, str]:
    """Packages that the torch of the environment requires on every system and that it does not have: name ->
    requirement for a shell."""
    names = {normal_name(package.name) for package in packages}
    torch = next((package for package in packages if normal_name(package.name) == "torch"), None)
    lines = () if torch is None else torch.requires_dist
    wanted = {name: line for line in lines if ";" not in line and (name := required_name(line)) is not None}
    return {name: shlex.quote(_pinned(name, line)) for name, line in wanted.items() if normal_name(name) not in names}


def missing_requirements(absent: Mapping[str, str], version: str, pip: str) -> Iterator[Problem]:
    """Requirements of torch that are not installed: `import torch` may fail. CUDA libraries are left to the loader
    prediction, because torch requires them on some systems only."""
    if absent:
        text = f"torch {version} requires {', '.join(absent)}, not installed here: `import torch` may fail"
        yield Problem(ProblemKind.MISSING_REQUIREMENTS, text, f"{pip} {' '.join(absent.values())}")


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


# --- libraries --------------------------------------------------------------------------------------------------


def several_runtimes(packages: Iterable[Distribution]) -> Iterator[Problem]:
    """Kinds of runtime that the packages provide several copies of."""
    found: dict[str, dict[str, list[str]]] = {}
    for package in packages:
        for path in package.shared_objects:
            name = _HASH.sub("", os.path.basename(path))
            kind = _RUNTIMES.get(library_stem(name) or "")
            if kind is not None:
                found.setdefault(kind, {}).setdefault(name, []).append(
                    f"{package.name} ({os.path.relpath(os.path.dirname(path), package.package.site)})"
                )
    for kind, names in sorted(found.items()):
        if sum(map(len, names.values())) > 1:
            parts = [f"{name} of {' and '.join(owners)}" for name, owners in sorted(names.items())]
            yield Problem(ProblemKind.SEVERAL_RUNTIMES, f"several copies of the {kind}: {'; '.join(parts)}")


def shadowed(
    library_path: str | None, packages: Iterable[Distribution], outcomes: Mapping[str, Sequence[FileOutcome]]
) -> Iterator[Problem]:
    """Libraries of the environment that the loader takes from LD_LIBRARY_PATH instead.

    Args:
        library_path: value of LD_LIBRARY_PATH.
        outcomes: package name -> files, with the result of the library search.
    """
    directories = {os.path.realpath(d) for d in re.split("[:;]", library_path or "") if d}
    if not directories:
        return
    contained: dict[str, str] = {}
    for package in packages:
        for path in package.shared_objects:
            contained.setdefault(os.path.basename(path), path)
    told: dict[str, list[str]] = {}
    for name, files in outcomes.items():
        for file in files:
            for library in file.needed:
                own = contained.get(library.soname)
                found = library.found
                if own is None or found is None or os.path.realpath(found) == os.path.realpath(own):
                    continue
                if not directories.isdisjoint(map(os.path.realpath, searched_folders(found))):
                    told.setdefault(f"{found}, and not {own}", []).append(name)
    for words, names in told.items():
        who = ", ".join(dict.fromkeys(names))
        yield Problem(ProblemKind.SHADOWED, f"LD_LIBRARY_PATH gives {who} {words}")
