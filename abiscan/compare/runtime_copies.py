"""Library conflicts of an environment: several copies of a runtime, libraries that LD_LIBRARY_PATH shadows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from abiscan.compare.file_outcome import FileOutcome
from abiscan.inputs.distributions import Distribution
from abiscan.model.environment_report import Problem, ProblemKind
from abiscan.ownership.vendors import library_stem

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
    brought: dict[str, str] = {}
    for package in packages:
        for path in package.shared_objects:
            brought.setdefault(os.path.basename(path), path)
    told: dict[str, list[str]] = {}
    for name, files in outcomes.items():
        for file in files:
            for library in file.needed:
                own = brought.get(library.soname)
                found = library.found
                if own is None or found is None or os.path.realpath(found) == os.path.realpath(own):
                    continue
                if os.path.realpath(os.path.dirname(found)) in directories:
                    told.setdefault(f"{found}, and not {own}", []).append(name)
    for words, names in told.items():
        who = ", ".join(dict.fromkeys(names))
        yield Problem(ProblemKind.SHADOWED, f"LD_LIBRARY_PATH gives {who} {words}")
