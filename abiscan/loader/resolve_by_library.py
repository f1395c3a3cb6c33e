"""Resolves imports that name the library that must export them, on a released build: the import table of Windows, the
two-level namespace of macOS.

As on Linux, no library of this machine is read. A name is looked up only in its library. A flat lookup of macOS
(`-undefined dynamic_lookup`) searches every library of the process: after `import torch` those of torch, the
interpreter and the system. docs/explanation/platforms.md has the reasons.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from abiscan.binary import Binary
from abiscan.environment.python_names import STABLE_ABI_LIBRARIES, stable_abi
from abiscan.environment.python_names import exports as python_exports
from abiscan.loader.resolution import (
    Answer,
    PythonExports,
    Resolution,
    ResolvingImport,
    gpu_libraries_among,
    needed_of_package,
    paths_by_library,
    resolve_in_pythons,
)
from abiscan.model.facts import Import
from abiscan.model.imports import CheckedImport, Owner, Status
from abiscan.model.loading import NeededLibrary
from abiscan.model.platforms import file_key, platform_of
from abiscan.model.python_version import python_of_dll
from abiscan.ownership.gpu_libraries import fits_gpu, is_driver
from abiscan.ownership.names import OwnScopes, owner_of, owner_of_library
from abiscan.ownership.operating_system_libraries import system_owner
from abiscan.ownership.torch_names import accelerator_of, is_torch_library, plugin_backends
from abiscan.releases.exports import TargetExports
from abiscan.releases.matrix import SiblingNeeds, TorchNeeds


class _Scope:
    """The libraries that may export the imports of one file."""

    def __init__(
        self,
        binary: Binary,
        siblings: Mapping[str, Binary],
        exports: TargetExports | None,
        pythons: Sequence[PythonExports],
        *,
        one_of: bool,
    ) -> None:
        self.binary = binary
        self.members = _by_library(siblings)
        self.exports = exports
        self.pythons = pythons
        self.one_of = one_of
        self.platform = platform_of(binary.machine)
        self.stands_for_cuda = exports is not None and exports.stands_for_cuda
        self.own_scopes = OwnScopes(binary.names_with_prefix)
        self.backends = plugin_backends(binary.needed)

    def resolve(self, symbol: Import) -> ResolvingImport:
        """Return an import with its status, owner and provider."""
        if symbol.library is None:
            owner = owner_of(symbol.name, None, None, self.own_scopes, self.backends)
            status, provider = self._anywhere(symbol.name, owner)
            owner = Owner.TORCH if provider is not None and is_torch_library(provider) else owner
        else:
            owner = owner_of_library(symbol.library)
            status, provider = self._in_library(symbol.name, symbol.library, owner)
        if status is not Status.RESOLVED and symbol.may_stay_unbound:
            status, provider = Status.WEAK, None
        return ResolvingImport(symbol, owner, status, provider)

    def leaves_open(self, library: str) -> bool:
        """Whether a library belongs to the CUDA builds of the release, which the index lacks."""
        of_cuda = owner_of_library(library) is Owner.CUDA or accelerator_of(file_key(library)) is not None
        return self.stands_for_cuda and of_cuda

    def _in_library(self, name: str, library: str, owner: Owner) -> Answer:
        key = file_key(library)
        member = self.members.get(key)
        if member is not None:
            return (Status.RESOLVED, key) if exports_through(member, name, self.members) else (Status.MISSING, None)
        if owner is Owner.TORCH:
            return self._in_torch(name, key)
        if owner is Owner.PYTHON:
            return self._in_python(name, key)
        if system_owner(library) is not None:
            return Status.RESOLVED, key
        return Status.UNDECIDED, None

    def _in_torch(self, name: str, key: str) -> Answer:
        exports = self.exports
        if exports is None or not exports.knows(name) or self.leaves_open(key):
            return Status.UNDECIDED, None
        if exports.library_in(name, (key,)) is not None:
            return Status.RESOLVED, key
        elsewhere = exports.library_of(name)
        return (Status.MISSING, None) if elsewhere is None else (Status.UNREACHABLE, elsewhere)

    def _in_python(self, name: str, key: str) -> Answer:
        if key in STABLE_ABI_LIBRARIES:
            return (Status.RESOLVED, key) if name in stable_abi() else (Status.MISSING, None)
        version = python_of_dll(key)
        pythons = self.pythons
        if version is not None:
            known = python_exports(version, self.platform.system)
            pythons = () if known is None else (known,)
        return resolve_in_pythons(name, pythons, one_of=self.one_of)

    def _anywhere(self, name: str, owner: Owner) -> Answer:
        """Of a flat lookup, or of one that makes weak definitions one: in the file itself, in the package, in torch, in
        the interpreter; what the system has is not known."""
        if self.binary.exports_name(name):
            return Status.RESOLVED, file_key(self.binary.soname or self.binary.path)
        found = next((key for key, member in self.members.items() if member.exports_name(name)), None)
        if found is None and self.exports is not None:
            found = self.exports.library_of(name)
        if found is not None:
            return Status.RESOLVED, found
        if owner is Owner.PYTHON:
            return resolve_in_pythons(name, self.pythons, one_of=self.one_of)
        if owner is Owner.TORCH:
            known = self.exports is not None and self.exports.knows(name)
            return (Status.MISSING if known else Status.UNDECIDED), None
        return Status.UNDECIDED, None


def resolve_by_library(
    binary: Binary,
    siblings: Mapping[str, Binary],
    exports: TargetExports | None,
    pythons: Sequence[PythonExports],
    *,
    one_of: bool = False,
) -> Resolution:
    """Resolve every import of a file of Windows or macOS.

    Args:
        siblings, exports, pythons, one_of: as in `resolve_on_release`.
    """
    scope = _Scope(binary, siblings, exports, pythons, one_of=one_of)
    _needed, others = needed_of_package(binary, siblings)
    provided = frozenset[str]() if exports is None else exports.provided_libraries
    shipped = frozenset[str]() if exports is None else exports.sonames
    unfit = (
        ()
        if exports is None or scope.stands_for_cuda
        else tuple(name for name in others if not fits_gpu(name, provided))
    )
    foreign = [name for name in others if _is_unknown(name, shipped | provided)]
    return Resolution(
        imports=[scope.resolve(symbol) for symbol in binary.imports],
        needed=tuple(_needed_library(name, scope, shipped | provided) for name in binary.needed),
        missing_libraries=tuple(dict.fromkeys((*unfit, *foreign))),
        missing_torch_libraries=tuple(
            name
            for name in others
            if is_torch_library(name) and file_key(name) not in shipped and not scope.leaves_open(name)
        ),
        unfit_libraries=unfit,
    )


def _by_library(siblings: Mapping[str, Binary]) -> dict[str, Binary]:
    return {key: siblings[path] for key, path in paths_by_library(siblings).items()}


def exports_through(member: Binary, name: str, members: Mapping[str, Binary]) -> bool:
    """Whether a file of the package, or a library of the package that it re-exports, exports a name."""
    if member.exports_name(name):
        return True
    seen, waiting = {id(member)}, list(member.reexported)
    while waiting:
        other = members.get(file_key(waiting.pop()))
        if other is None or id(other) in seen:
            continue
        if other.exports_name(name):
            return True
        seen.add(id(other))
        waiting += other.reexported
    return False


def _is_unknown(library: str, provided: frozenset[str]) -> bool:
    """Whether a library belongs to none of torch, CPython, CUDA, ROCm and the system."""
    if file_key(library) in provided or system_owner(library) is not None or is_driver(library):
        return False
    return owner_of_library(library) not in (Owner.TORCH, Owner.PYTHON, Owner.CUDA, Owner.HIP)


def _needed_library(name: str, scope: _Scope, provided: frozenset[str]) -> NeededLibrary:
    key = file_key(name)
    is_known = key in scope.members or key in provided or system_owner(name) is not None or is_driver(name)
    is_known = is_known or owner_of_library(name) is Owner.PYTHON or scope.leaves_open(name)
    return NeededLibrary(name, key if is_known else None)


def torch_needs_by_library(
    binary: Binary,
    imports: Sequence[CheckedImport],
    siblings: Mapping[str, Binary],
    namesakes: frozenset[str],
) -> TorchNeeds:
    """Collect the torch imports of a Windows or macOS file and of the files of its package that it needs.

    Args:
        imports: resolved imports of the file.
        siblings: path to contents of the other shared objects of the package that it may need.
        namesakes: file names of libraries of the package that only have the name of a torch library.
    """
    members = _by_library(siblings)
    wanted = [
        (each.name, each.symbol.library)
        for each in imports
        if each.owner is Owner.TORCH
        and each.status is not Status.WEAK
        and (each.provider is None or is_torch_library(each.provider))
    ]
    needed, others = needed_of_package(binary, siblings)
    return TorchNeeds(
        names=tuple(dict.fromkeys(name for name, _library in wanted)),
        homes=_homes(wanted),
        all_libraries=True,
        libraries=tuple(dict.fromkeys(file_key(name) for name in binary.needed if is_torch_library(name, namesakes))),
        siblings=tuple(
            found
            for path, each in needed.items()
            if (found := _sibling_needs(file_key(path), each, members, namesakes)) is not None
        ),
        machine=binary.machine,
        gpu_libraries=gpu_libraries_among(others),
    )


def _sibling_needs(
    key: str, sibling: Binary, members: Mapping[str, Binary], namesakes: frozenset[str]
) -> SiblingNeeds | None:
    backends = plugin_backends(sibling.needed)
    strong = [
        symbol
        for symbol in sibling.imports
        if not symbol.may_stay_unbound and _is_torch_import(symbol, namesakes, backends)
    ]
    flat = tuple(symbol.name for symbol in strong if symbol.library is None)
    own = frozenset[str]().union(*(each.exported_among(flat) for each in (sibling, *members.values()))) if flat else ()
    wanted = [
        (symbol.name, symbol.library) for symbol in strong if symbol.library is not None or symbol.name not in own
    ]
    libraries = tuple(dict.fromkeys(file_key(name) for name in sibling.needed if is_torch_library(name, namesakes)))
    if not wanted and not libraries:
        return None
    names = tuple(dict.fromkeys(name for name, _library in wanted))
    return SiblingNeeds(key, names, libraries, homes=_homes(wanted))


def _is_torch_import(symbol: Import, namesakes: frozenset[str], backends: frozenset[str]) -> bool:
    if symbol.library is not None:
        return is_torch_library(symbol.library, namesakes)
    return owner_of(symbol.name, backends=backends) is Owner.TORCH


def _homes(wanted: Iterable[tuple[str, str | None]]) -> Mapping[str, tuple[str, ...]]:
    homes: dict[str, tuple[str, ...]] = {}
    for name, library in wanted:
        if library is not None:
            homes[name] = tuple(dict.fromkeys((*homes.get(name, ()), file_key(library))))
    return homes
