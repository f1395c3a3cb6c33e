"""The status of each import of a file on a released build: a function of the file, its package and the index.

Nothing of this machine is looked at, so that the answer is the same on every host: the interpreter's names are those of
the table of CPython's exports, the C library's and the C++ runtime's are what the platform tag promises, and the GPU
driver is the machine's that will load the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from abiscan.binary import Binary
from abiscan.loader.resolution import PythonExports, Resolution, ResolvingImport
from abiscan.loader.resolve_in_process import needed_of_package
from abiscan.model.facts import Import
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import NeededLibrary
from abiscan.ownership.glibc import is_glibc_name
from abiscan.ownership.gpu_libraries import fits_gpu, is_driver
from abiscan.ownership.names import OwnScopes, owner_of, owner_of_library
from abiscan.ownership.torch_names import is_torch_library
from abiscan.ownership.vendors import vendor_of_library
from abiscan.releases.exports import TargetExports

# Whose libraries every system has, or the torch build brings: their absence from a package says nothing.
_PROVIDED = frozenset({Owner.TORCH, Owner.PYTHON, Owner.LIBC, Owner.CXX, Owner.OPENMP, Owner.CUDA, Owner.HIP})

# What became of a name, and whose it is.
_Answer = tuple[Status, str | None]


def resolve_on_release(
    binary: Binary,
    siblings: dict[str, Binary],
    exports: TargetExports | None,
    pythons: Sequence[PythonExports],
    *,
    one_of: bool = False,
) -> Resolution:
    """Resolve every import of a file.

    The scope's order is not asked for: nothing that is looked at here exports what another part of it does.

    Args:
        siblings: path to contents of the other shared objects of the file's package.
        exports: the build's; None where no build for the file's architecture is known.
        pythons: the CPythons that the file is for: a name must be exported by every one; none where nothing is known.
        one_of: nobody says for which of them: a name that some export and some do not is open.
    """
    needed, others = needed_of_package(binary, siblings)
    everything = [*binary.needed, *(name for each in needed.values() for name in each.needed)]
    scope = frozenset[str]() if exports is None else exports.in_scope(everything)
    provided = frozenset[str]() if exports is None else exports.provided_libraries
    foreign = [name for name in others if _may_have_anything(name)]
    unfit = () if exports is None else tuple(name for name in others if not fits_gpu(name, provided))
    scopes = OwnScopes(binary.names_with_prefix)
    python = partial(_resolve_in_python, pythons=pythons, one_of=one_of)
    resolved = []
    beside = _first_exporters(tuple(symbol.name for symbol in binary.imports), needed)
    for symbol in binary.imports:
        provider = beside.get(symbol.name)
        status = Status.MISSING if provider is None else Status.RESOLVED
        if provider is None and exports is not None:
            provider = exports.library_in(symbol.name, scope)
            if provider is not None:
                status = Status.RESOLVED
            elif owner_of(symbol.name, symbol.version) is Owner.TORCH:
                provider = exports.library_of(symbol.name)
                status = Status.MISSING if provider is None else Status.UNREACHABLE
        owner = owner_of(symbol.name, symbol.version, provider, scopes)
        if status is Status.MISSING:
            may_be_torchs = exports is not None and bool(scope) and not exports.knows(symbol.name)
            unknown = exports is None or may_be_torchs or bool(foreign)
            torch_known = exports is not None and exports.knows(symbol.name)
            status, provider = _resolve_elsewhere(symbol, owner, python, torch_known=torch_known, unknown=unknown)
        if status is not Status.RESOLVED and symbol.may_stay_unbound:
            status, provider = Status.WEAK, None
        resolved.append(ResolvingImport(symbol, owner, status, provider))
    found = {path.rpartition("/")[2]: path for path in needed}
    return Resolution(
        imports=resolved,
        needed=tuple(_served(name, found, provided) for name in binary.needed),
        missing_libraries=(*unfit, *foreign),
        missing_torch_libraries=tuple(
            name for name in others if is_torch_library(name) and (exports is None or name not in exports.sonames)
        ),
        unfit_libraries=unfit,
    )


def _first_exporters(names: tuple[str, ...], needed: Mapping[str, Binary]) -> dict[str, str]:
    """Name -> file name of the first file that exports it."""
    found: dict[str, str] = {}
    for path, each in needed.items():
        for name in each.exported_among(names):
            found.setdefault(name, path.rpartition("/")[2])
    return found


def _may_have_anything(soname: str) -> bool:
    """Whether a name of unknown home may be a library's: of the known ones each name tells whose it is."""
    owner = owner_of_library(soname)
    if owner in (Owner.CUDA, Owner.HIP):
        return vendor_of_library(soname) is None and not is_driver(soname)
    return owner not in _PROVIDED


def _served(name: str, members: Mapping[str, str], provided: frozenset[str]) -> NeededLibrary:
    """A needed library with who serves it: a package member, the system, the driver, or what the build brings."""
    base = name.rpartition("/")[2]
    system = owner_of_library(base) in (Owner.LIBC, Owner.CXX, Owner.OPENMP, Owner.PYTHON)
    return NeededLibrary(name, members.get(base) or (base if system or base in provided or is_driver(base) else None))


def settle_python_names(resolution: Resolution, pythons: Sequence[PythonExports]) -> None:
    """Resolve CPython's names by other interpreters than that of the process."""
    for each in resolution.imports:
        if each.owner is Owner.PYTHON and each.status is not Status.WEAK:
            each.settle(*_resolve_in_python(each.name, pythons, one_of=False))


def settle_by_package(resolution: Resolution, providers: Mapping[str, str]) -> None:
    """Resolve missing names by other files of the package.

    Args:
        providers: name -> name of the file that exports it.
    """
    for each in resolution.imports:
        if each.status is Status.MISSING and each.name in providers:
            each.settle(Status.RESOLVED, providers[each.name])


def settle_by_dependents(
    resolution: Resolution, needed: Sequence[str], exports: TargetExports, absent: Sequence[str] = ()
) -> None:
    """Resolve names that libraries of torch export which dependents load into the file's scope, and leave names of
    unknown owner undecided that an absent library of theirs may export.

    Args:
        needed: sonames that the dependents need.
        absent: those of them that are not here (`unknown_libraries`).
    """
    scope = exports.in_scope(name.rpartition("/")[2] for name in needed)
    for each in resolution.imports:
        provider = exports.library_in(each.name, scope) if each.status.is_unresolved else None
        if provider is not None:
            each.settle(Status.RESOLVED, provider)
        elif absent and each.status is Status.MISSING and each.owner is Owner.OTHER:
            each.settle(Status.UNDECIDED, each.provider)


def unknown_libraries(sonames: Iterable[str]) -> tuple[str, ...]:
    """Those of absent libraries that may have names of unknown home."""
    return tuple(filter(_may_have_anything, sonames))


def _resolve_in_python(name: str, pythons: Sequence[PythonExports], *, one_of: bool) -> _Answer:
    exporting = sum(python(name) for python in pythons)
    if not pythons or (one_of and 0 < exporting < len(pythons)):
        return Status.UNDECIDED, None
    return (Status.RESOLVED, "python") if exporting == len(pythons) else (Status.MISSING, None)


def _resolve_elsewhere(
    symbol: Import, owner: Owner, python: Callable[[str], _Answer], *, torch_known: bool, unknown: bool
) -> _Answer:
    """(status, provider) of a name that neither the package nor the build exports.

    Args:
        python: the same of a name of CPython's.
        torch_known: whether a build was looked at that would have the name, if it exported it.
        unknown: whether a library that was not looked at may have a name of unknown home.
    """
    library = symbol.version.library if symbol.version is not None else None
    match owner:
        case Owner.PYTHON:
            return python(symbol.name)
        case Owner.TORCH:
            return (Status.MISSING if torch_known else Status.UNDECIDED), None
        case Owner.LIBC | Owner.CXX | Owner.OPENMP:
            # A versioned name is that library's own promise; of another one only the library itself can tell.
            return (Status.RESOLVED, library) if library else (Status.UNDECIDED, None)
        case Owner.CUDA | Owner.HIP:
            return Status.UNDECIDED, None
        case _:
            if is_glibc_name(symbol.name):
                # Every process has the C library, whether or not the file needs it itself.
                return Status.RESOLVED, "libc.so.6"
            return (Status.UNDECIDED if unknown else Status.MISSING), None
