"""Resolves the imports of a file on a released build, from the file, its package and the release index alone.

Nothing is read from this machine, so the result is the same on every host. Python symbols come from the table of
CPython exports, C and C++ library symbols from the guarantees of the platform tag, and the GPU driver is that of the
machine that will load the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

from abiscan.binary import Binary
from abiscan.loader.resolution import (
    Answer,
    PythonExports,
    Resolution,
    ResolvingImport,
    needed_of_package,
    resolve_in_pythons,
)
from abiscan.model.facts import Import
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import NeededLibrary
from abiscan.ownership.gpu_libraries import fits_gpu, is_driver
from abiscan.ownership.names import OwnScopes, owner_of, owner_of_library
from abiscan.ownership.standard_libraries import is_glibc_name
from abiscan.ownership.torch_names import is_torch_library, plugin_backends
from abiscan.ownership.vendors import vendor_of_library
from abiscan.releases.exports import TargetExports

# Owners whose libraries the system or the torch build provides: they may be absent from the package.
_PROVIDED = frozenset({Owner.TORCH, Owner.PYTHON, Owner.LIBC, Owner.CXX, Owner.OPENMP, Owner.CUDA, Owner.HIP})


def resolve_on_release(
    binary: Binary,
    siblings: dict[str, Binary],
    exports: TargetExports | None,
    pythons: Sequence[PythonExports],
    *,
    one_of: bool = False,
) -> Resolution:
    """Resolve every import of a file.

    The order of the scope does not matter: no two of the libraries that are looked at here export the same symbol.

    Args:
        siblings: path to contents of the other shared objects of the file's package.
        exports: exports of the build; None if no build for the file's architecture is known.
        pythons: target CPythons of the file; a symbol must be exported by all of them. Empty if unknown.
        one_of: the file is for one unknown CPython among them: a symbol that only some export is undecided.
    """
    needed, others = needed_of_package(binary, siblings)
    everything = [*binary.needed, *(name for each in needed.values() for name in each.needed)]
    scope = frozenset[str]() if exports is None else exports.in_scope(everything)
    provided = frozenset[str]() if exports is None else exports.provided_libraries
    foreign = [name for name in others if _may_have_anything(name)]
    unfit = () if exports is None else tuple(name for name in others if not fits_gpu(name, provided))
    scopes = OwnScopes(binary.names_with_prefix)
    owner_with = partial(owner_of, defines_in=scopes, backends=plugin_backends(everything))
    python = partial(resolve_in_pythons, pythons=pythons, one_of=one_of)
    resolved = []
    beside = _first_exporters(tuple(symbol.name for symbol in binary.imports), needed)
    if exports is not None:
        exports.look_up([symbol.name for symbol in binary.imports if symbol.name not in beside])
    for symbol in binary.imports:
        provider = beside.get(symbol.name)
        status = Status.MISSING if provider is None else Status.RESOLVED
        if provider is None and exports is not None:
            provider = exports.library_in(symbol.name, scope)
            if provider is not None:
                status = Status.RESOLVED
            elif owner_with(symbol.name, symbol.version) is Owner.TORCH:
                provider = exports.library_of(symbol.name)
                status = Status.MISSING if provider is None else Status.UNREACHABLE
        owner = owner_with(symbol.name, symbol.version, provider)
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
        needed=tuple(_needed_library(name, found, provided) for name in binary.needed),
        missing_libraries=(*unfit, *foreign),
        missing_torch_libraries=tuple(
            name for name in others if is_torch_library(name) and (exports is None or name not in exports.sonames)
        ),
        unfit_libraries=unfit,
    )


def _first_exporters(names: tuple[str, ...], needed: Mapping[str, Binary]) -> dict[str, str]:
    """Symbol -> file name of the first file that exports it."""
    found: dict[str, str] = {}
    for path, each in needed.items():
        for name in each.exported_among(names):
            found.setdefault(name, path.rpartition("/")[2])
    return found


def _may_have_anything(soname: str) -> bool:
    """Whether a library may export a symbol of unknown owner. The symbols of known libraries have known owners."""
    owner = owner_of_library(soname)
    if owner in (Owner.CUDA, Owner.HIP):
        return vendor_of_library(soname) is None and not is_driver(soname)
    return owner not in _PROVIDED


def _needed_library(name: str, members: Mapping[str, str], provided: frozenset[str]) -> NeededLibrary:
    """A needed library with its provider: a package member, the system, the driver, or the torch build."""
    base = name.rpartition("/")[2]
    system = owner_of_library(base) in (Owner.LIBC, Owner.CXX, Owner.OPENMP, Owner.PYTHON)
    return NeededLibrary(name, members.get(base) or (base if system or base in provided or is_driver(base) else None))


def settle_python_names(resolution: Resolution, pythons: Sequence[PythonExports]) -> None:
    """Resolve CPython symbols with other interpreters than that of the process."""
    for each in resolution.imports:
        if each.owner is Owner.PYTHON and each.status is not Status.WEAK:
            each.settle(*resolve_in_pythons(each.name, pythons, one_of=False))


def settle_by_package(resolution: Resolution, providers: Mapping[str, str]) -> None:
    """Resolve missing symbols with other files of the package.

    Args:
        providers: symbol -> name of the file that exports it.
    """
    for each in resolution.imports:
        if each.status is Status.MISSING and each.name in providers:
            each.settle(Status.RESOLVED, providers[each.name])


def settle_by_dependents(
    resolution: Resolution, needed: Sequence[str], exports: TargetExports, absent: Sequence[str]
) -> None:
    """Resolve symbols exported by torch libraries that dependents load into the file's scope. Symbols of unknown owner
    that one of the absent libraries may export become undecided.

    Args:
        needed: sonames that the dependents need.
        absent: those of them that were not found (`unknown_libraries`).
    """
    scope = exports.in_scope(name.rpartition("/")[2] for name in needed)
    for each in resolution.imports:
        provider = exports.library_in(each.name, scope) if each.status.is_unresolved else None
        if provider is not None:
            each.settle(Status.RESOLVED, provider)
        elif absent and each.status is Status.MISSING and each.owner is Owner.OTHER:
            each.settle(Status.UNDECIDED, each.provider)


def unknown_libraries(sonames: Iterable[str]) -> tuple[str, ...]:
    """Absent libraries that may export symbols of unknown owner."""
    return tuple(filter(_may_have_anything, sonames))


def _resolve_elsewhere(
    symbol: Import, owner: Owner, python: Callable[[str], Answer], *, torch_known: bool, unknown: bool
) -> Answer:
    """(status, provider) of a symbol that neither the package nor the build exports.

    Args:
        python: resolves a CPython symbol.
        torch_known: whether a build was checked that would export the symbol if any does.
        unknown: whether a library that was not read may export a symbol of unknown owner.
    """
    library = symbol.version.library if symbol.version is not None else None
    match owner:
        case Owner.PYTHON:
            return python(symbol.name)
        case Owner.TORCH:
            return (Status.MISSING if torch_known else Status.UNDECIDED), None
        case Owner.LIBC | Owner.CXX | Owner.OPENMP:
            # The library guarantees a versioned symbol; for others it would have to be read.
            return (Status.RESOLVED, library) if library else (Status.UNDECIDED, None)
        case Owner.CUDA | Owner.HIP:
            return Status.UNDECIDED, None
        case _:
            if is_glibc_name(symbol.name):
                # Every process loads the C library, whether or not the file needs it itself.
                return Status.RESOLVED, "libc.so.6"
            return (Status.UNDECIDED if unknown else Status.MISSING), None
