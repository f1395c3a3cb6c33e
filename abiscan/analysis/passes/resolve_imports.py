"""Resolve every import of the file in its target environment, as the loader would."""

from __future__ import annotations

import os
from collections.abc import Sequence

from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.pass_results import AbsentLibraries, PackageScope
from abiscan.analysis.siblings import exported_beside, needed_by_dependents
from abiscan.environment.python_names import exports as python_exports
from abiscan.loader.resolution import PythonExports, Resolution, ResolvingImport
from abiscan.mangling import tagged_string_abi
from abiscan.model.imports import CheckedImport, Owner, Status
from abiscan.model.loading import NeededLibrary
from abiscan.model.platforms import OperatingSystem, file_key, system_of
from abiscan.model.target import TargetSource
from abiscan.ownership.gpu_libraries import fits_gpu
from abiscan.ownership.torch_names import is_torch_library
from abiscan.releases import Build


def resolve_imports(record: FileRecord) -> None:
    """Resolve in steps; each settles imports that the earlier ones left missing."""
    resolution = _resolve(record)
    _settle_by_package(record, resolution)
    late_bound = _leave_open_what_is_called_late(record, resolution)
    record.package_scope = PackageScope(*_settle_by_dependents(record, resolution), late_bound)
    demangle = record.context.demangler.demangle
    record.imports = tuple(
        CheckedImport(each.symbol, answer.text, answer.by, _owner(each, record), each.status, each.provider)
        for each in resolution.imports
        for answer in (demangle(each.name),)
    )
    record.needed = _with_shipped(resolution.needed, record)
    record.absent = AbsentLibraries(
        resolution.missing_libraries,
        resolution.missing_torch_libraries,
        _unfit_libraries(resolution, record),
    )


def _owner(resolved: ResolvingImport, record: FileRecord) -> Owner:
    """The owner of an import: not torch if a library of the package exports it that only has the name of torch's."""
    in_package = resolved.provider is not None and file_key(resolved.provider) in record.namesakes
    return Owner.OTHER if in_package and resolved.owner is Owner.TORCH else resolved.owner


def _resolve(record: FileRecord) -> Resolution:
    """Resolve as the loader of this machine, if the torch is installed; else against the index."""
    target, torch, loader = record.target, record.torch, record.context.loader
    versions = target.pythons or target.possible
    system = system_of(record.binary.machine)
    pythons = [python for version in versions if (python := python_exports(version, system)) is not None]
    if torch is None or not torch.installed or not loader.serves(record.binary):
        return _on_release(record, pythons)
    resolution = loader.resolve(record.binary, record.load_path, record.siblings)
    if target.pythons:
        from abiscan.loader.resolve_on_release import settle_python_names

        settle_python_names(resolution, pythons)
    return resolution


def _on_release(record: FileRecord, pythons: Sequence[PythonExports]) -> Resolution:
    """Resolve against a release with the index only."""
    artifact, binary, torch = record.artifact, record.binary, record.torch
    # Install paths of an environment here do not matter for a release: members are identified by their path.
    root = record.load_path.removesuffix(os.path.normpath(artifact.package_path)) if artifact.member is not None else ""
    members = {place.removeprefix(root): each for place, each in record.siblings.items()}
    exports = None if torch is None else torch.exports
    if system_of(binary.machine) is not OperatingSystem.LINUX:
        from abiscan.loader.resolve_by_library import resolve_by_library

        return resolve_by_library(binary, members, exports, pythons, one_of=not record.target.pythons)
    from abiscan.loader.resolve_on_release import resolve_on_release

    resolution = resolve_on_release(binary, members, exports, pythons, one_of=not record.target.pythons)
    _leave_open_for_other_string(resolution, record, record.context.target.index_around(torch).builds(binary.machine))
    return resolution


def _missing_of_package(resolution: Resolution) -> list[ResolvingImport]:
    """The missing imports of neither torch nor another known project."""
    owners = (Owner.SELF, Owner.OTHER)
    return [each for each in resolution.imports if each.status is Status.MISSING and each.owner in owners]


def _settle_by_package(record: FileRecord, resolution: Resolution) -> None:
    """Resolve imports that no library in scope exports by other files of the package, which may load these first. The
    rest of a plugin that imports nothing of torch and Python may be exported by the program that loads it."""
    artifact = record.artifact
    own = _missing_of_package(resolution)
    if artifact.member is None or not own:
        return
    from abiscan.loader.resolve_on_release import settle_by_package

    settle_by_package(resolution, exported_beside(artifact, [each.name for each in own]))
    hosts = (Owner.TORCH, Owner.PYTHON)
    binary = record.binary
    if (
        not any(each.owner in hosts for each in resolution.imports)
        and not any(is_torch_library(name, record.namesakes) for name in binary.needed)
        and not record.is_module
    ):
        for each in own:
            if each.status is Status.MISSING:
                each.settle(Status.UNDECIDED)


def _leave_open_what_is_called_late(record: FileRecord, resolution: Resolution) -> tuple[str, ...]:
    """Leave imports undecided that are needed only when they are called, because the package opens the file lazily."""
    missing = _missing_of_package(resolution)
    if record.is_alone or not missing:
        return ()
    if not record.binary.is_bound_when_called({each.symbol.index for each in missing}):
        return ()
    from abiscan.provenance.lazy_loading import is_opened_lazily

    if not is_opened_lazily(record.artifact, record.context.options.settings.files):
        return ()
    for each in missing:
        each.settle(Status.UNDECIDED)
    return tuple(each.name for each in missing)


def _settle_by_dependents(record: FileRecord, resolution: Resolution) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Resolve by libraries that files of the package load into the scope of this file because they need it. Returns
    their sonames, and those that were not found."""
    torch = record.torch
    if torch is None or record.is_alone or not any(each.status.is_unresolved for each in resolution.imports):
        return (), ()
    from abiscan.loader.resolve_on_release import settle_by_dependents, unknown_libraries

    artifact = record.artifact
    dependents = needed_by_dependents(artifact, record.binary)
    outside = [name for name in dependents if not artifact.group.named(name.rpartition("/")[2])]
    if torch.installed:
        outside = [name for name in outside if record.context.loader.find(name) is None]
    absent = unknown_libraries(outside)
    settle_by_dependents(resolution, dependents, torch.exports, absent)
    return dependents, absent


def _leave_open_for_other_string(resolution: Resolution, record: FileRecord, builds: Sequence[Build]) -> None:
    """Leave symbols undecided that only a build of the release with the other std::string ABI can export: the index may
    have the release that the file name declares with one ABI only."""
    torch, stated = record.torch, record.target.environment.torch
    if torch is None or torch.build is None or stated is None or stated.source is not TargetSource.FOLDER:
        return
    missing = [each for each in resolution.imports if each.owner is Owner.TORCH and each.status is Status.MISSING]
    known = {build.cxx11_abi for build in builds if build.torch == torch.target.version}
    wanted = {tagged_string_abi(each.name) for each in missing}
    if len(wanted) == 1 and known == {"new" not in wanted}:
        for each in missing:
            each.settle(Status.UNDECIDED, each.provider)


def _unfit_libraries(resolution: Resolution, record: FileRecord) -> tuple[str, ...]:
    """The needed CUDA and ROCm libraries that the torch ships in another version or not at all and that, for an
    installed torch, the machine does not have."""
    torch = record.torch
    if torch is None or record.target.of_file.other_gpu is not None:
        return ()
    if not torch.installed:
        return resolution.unfit_libraries
    return tuple(name for name in resolution.missing_libraries if not fits_gpu(name, torch.exports.provided_libraries))


def _with_shipped(needed: Sequence[NeededLibrary], record: FileRecord) -> tuple[NeededLibrary, ...]:
    """Mark the libraries of a torch of which no loader was followed as found, at their path in that torch or its
    wheel."""
    torch = record.torch
    if torch is None or (torch.installed and record.context.loader.serves(record.binary)):
        return tuple(needed)
    exports = torch.exports
    return tuple(n if n.found is not None else NeededLibrary(n.soname, exports.path_of(n.soname)) for n in needed)
