"""Imports of one file during resolution: each step settles imports that earlier steps left missing. And the libraries
of its package and of GPU toolkits that it needs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec import Struct

from abiscan.binary import Binary
from abiscan.model.facts import Import
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import NeededLibrary
from abiscan.model.platforms import file_key
from abiscan.ownership.gpu_libraries import is_driver
from abiscan.ownership.names import owner_of_library

PythonExports = Callable[[str], bool]
"""Whether a CPython exports a name."""
Answer = tuple[Status, str | None]
"""(status, provider) of a symbol."""


class ResolvingImport(Struct, gc=False):
    """An import with its current status.

    Attributes:
        provider: as in `CheckedImport`.
    """

    symbol: Import
    owner: Owner
    status: Status
    provider: str | None

    @property
    def name(self) -> str:
        """The mangled name."""
        return self.symbol.name

    def settle(self, status: Status, provider: str | None = None) -> None:
        """Set status and provider."""
        self.status, self.provider = status, provider


class Resolution(Struct):
    """All imports of one file.

    Attributes:
        imports: in the order of the symbol table.
        needed: the file's own DT_NEEDED entries.
        missing_libraries: libraries of the closure that were not found, in the loader's order.
        missing_torch_libraries: torch libraries of another variant among them.
        unfit_libraries: CUDA and ROCm libraries that the release ships in another version or not at all.
    """

    imports: list[ResolvingImport]
    needed: tuple[NeededLibrary, ...]
    missing_libraries: tuple[str, ...]
    missing_torch_libraries: tuple[str, ...]
    unfit_libraries: tuple[str, ...] = ()


def resolve_in_pythons(name: str, pythons: Sequence[PythonExports], *, one_of: bool) -> Answer:
    """Resolve a CPython symbol, which all target CPythons must export; with `one_of`, the file is for one unknown
    CPython among them: a symbol that only some export is undecided."""
    exporting = sum(python(name) for python in pythons)
    if not pythons or (one_of and 0 < exporting < len(pythons)):
        return Status.UNDECIDED, None
    return (Status.RESOLVED, "python") if exporting == len(pythons) else (Status.MISSING, None)


def paths_by_library(siblings: Mapping[str, Binary]) -> dict[str, str]:
    """File names, sonames and install names of the files of a package -> path."""
    found: dict[str, str] = {}
    for path, each in siblings.items():
        found.setdefault(file_key(path), path)
        if each.soname:
            found.setdefault(file_key(each.soname), path)
    return found


def gpu_libraries_among(sonames: Iterable[str]) -> tuple[str, ...]:
    """The CUDA and ROCm libraries that are not part of a driver."""
    return tuple(s for s in sonames if owner_of_library(s) in (Owner.CUDA, Owner.HIP) and not is_driver(s))


def needed_of_package(binary: Binary, siblings: Mapping[str, Binary]) -> tuple[dict[str, Binary], list[str]]:
    """The siblings that a file needs, directly or indirectly, by path, and the names of the other libraries that it and
    they need, each once."""
    paths = paths_by_library(siblings)
    needed: dict[str, Binary] = {}
    outside: dict[str, str] = {}
    waiting = list(binary.needed)
    for name in waiting:  # grows while it is read: breadth first
        path = paths.get(file_key(name))
        if path is None:
            outside.setdefault(file_key(name), name)
        elif path not in needed and siblings[path].machine == binary.machine:
            needed[path] = siblings[path]
            waiting += siblings[path].needed
    return needed, list(outside.values())
