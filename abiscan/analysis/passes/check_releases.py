"""Check the file against every known release of torch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from abiscan.analysis.file_record import FileRecord
from abiscan.environment.python_names import exported_by
from abiscan.environment.python_names import exports as python_exports
from abiscan.loader.torch_needs import torch_needs
from abiscan.model.facts import VersionNeed
from abiscan.model.imports import Owner, Status
from abiscan.model.loading import LoaderStop
from abiscan.model.platforms import OperatingSystem, system_of
from abiscan.model.python_version import PythonVersion
from abiscan.model.release import ReleaseVerdict
from abiscan.ownership.names import owner_of
from abiscan.ownership.standard_libraries import ADDED
from abiscan.releases import Build
from abiscan.releases.matrix import build_matrix
from abiscan.wheel.tags import read_declared_tags, versions_exceed


def check_releases(record: FileRecord) -> None:
    """Collect the imports that only torch can export, and resolve them against every build.

    A file without torch imports has no matrix, unless it needs a file of its package that has some, and neither has a
    file for a platform without known builds.
    """
    absent, package, context = record.absent, record.package_scope, record.context
    if system_of(record.facts.machine) is not OperatingSystem.LINUX:
        from abiscan.loader.resolve_by_library import torch_needs_by_library

        needs = torch_needs_by_library(record.binary, record.imports, record.siblings, record.namesakes)
    else:
        needs = torch_needs(
            record.binary,
            record.imports,
            record.siblings,
            record.namesakes,
            (*absent.missing, *package.absent),
            dependents=package.dependents,
            newer=_newer_functions(record),
        )
    record.torch_needs = needs
    record.matrix = None
    if (record.concerns_torch or needs.siblings) and context.index.builds(record.facts.machine):
        # The interpreter of the installed torch exports Python names; for releases the table of CPythons is used.
        on_releases = context.options.matrix or (record.torch is not None and not record.torch.installed)
        otherwise = _other_failure(record) if on_releases else None
        target = None if record.torch is None else record.torch.build
        record.matrix = build_matrix(
            needs, context.index, reasons=context.options.matrix, target=target, otherwise=otherwise
        )
    record.target_outcome = _target_outcome(record)
    record.broken_library = _broken_library(record)


def _newer_functions(record: FileRecord) -> tuple[str, ...]:
    """The functions of libstdc++ that the file imports without a version and that the oldest system of the wheel's tags
    does not have. A library that is already loaded must export them."""
    named = [ADDED[b.name] for b in record.imports if b.name in ADDED and b.symbol.version is None]
    if not named:
        return ()
    facts = record.artifact.group.facts
    declared = read_declared_tags(facts.declared_tags)
    needs = [VersionNeed("libstdc++.so.6", version, weak=False) for version in named]
    beyond = {each.version for each in versions_exceed(declared, needs)}
    return tuple(name for name, version in ADDED.items() if version in beyond)


def _target_outcome(record: FileRecord) -> ReleaseVerdict | None:
    """The outcome on the build that the file is checked against; None if the index does not have it, or if torch
    symbols are undecided."""
    torch, matrix = record.torch, record.matrix
    if matrix is None or torch is None or torch.build is None:
        return None
    if any(each.owner is Owner.TORCH and each.status is Status.UNDECIDED for each in record.imports):
        return None
    return next((verdict for verdict in matrix.verdicts if verdict.build == torch.build), None)


def _broken_library(record: FileRecord) -> str | None:
    """A needed library that does not load on the installed torch because of an undefined torch or Python symbol, so
    that the file does not load although its own symbols resolve. The library at which the loader stops; else one of its
    package."""
    stop, torch = record.loader.stop, record.torch
    if stop is not None and stop.symbol and stop.object != record.load_path and not record.loader.torch_fails:
        owner = owner_of(stop.symbol)
        if owner in (Owner.TORCH, Owner.PYTHON) or record.context.index.history(stop.symbol, record.facts.machine):
            return stop.object
    if torch is None or not torch.installed:
        return None  # for a release, `target_outcome` contains it
    exports, needs = torch.exports, record.torch_needs
    scope = exports.sonames if needs.all_libraries else exports.in_scope(needs.scope)
    for each in needs.siblings:
        names = filter(exports.knows, each.names)
        if any(map(torch.lacks, each.libraries)) or any(
            exports.library_in(name, each.homes.get(name, scope)) is None for name in names
        ):
            return each.library
    return None


def _other_failure(record: FileRecord) -> Callable[[Build], str]:
    """Build -> short reason of a failure that torch does not cause, or empty: glibc refuses the file, or a declared
    CPython with wheels of that release does not export a symbol."""
    if isinstance(record.problem, LoaderStop):
        return lambda _build: "damaged"
    target = record.target
    system = system_of(record.facts.machine)
    names = [b.name for b in record.imports if b.owner is Owner.PYTHON and b.status is not Status.WEAK]

    # Most releases have wheels for the same few CPythons.
    @cache
    def exports_all(version: PythonVersion) -> bool:
        exported = python_exports(version, system)
        return exported is None or all(map(exported, names))

    @cache
    def exporting() -> frozenset[tuple[PythonVersion, ...]]:
        return frozenset(exported_by(name, system) for name in names)

    @cache
    def none_exports_a_name(versions: tuple[PythonVersion, ...]) -> bool:
        return any(set(versions).isdisjoint(each) for each in exporting())

    @cache
    def failure(torch: str) -> str:
        lacking = next((version for version in target.pythons_for(torch) if not exports_all(version)), None)
        if lacking is not None:
            return f"CPython {lacking}"
        possible = target.possible_pythons_for(torch)
        return "CPython" if possible and none_exports_a_name(possible) else ""

    return (lambda build: failure(build.torch)) if names else (lambda _build: "")
