"""A run in parts: `plan` divides it into batches, each a value that any process can scan (`scan_batch.py`); which one
does is an executor's affair (`executors.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.python import PythonEnvironment
from abiscan.inputs import Archives, Artifact, Group, archives_of
from abiscan.inputs import Options as InputOptions
from abiscan.inputs.file_kind import named_like_archive
from abiscan.model.report import ArtifactReport, Container, InputError
from abiscan.model.target import TorchBuild

# What looking at a file takes whatever its size, in bytes that are unpacked in the same time: some 20 ms.
_WORK = 16 << 20
# How much of an archive, in bytes as it is packed, is worth another process, which starts and reads what all files are
# judged in anew, in some 0.06 s of CPU.
_PART = 4 << 20


class Batch(Struct, frozen=True):
    """A part of a run.

    Attributes:
        targets: as the user named them, or one archive among them.
        part, parts: of the artifacts of the targets those of number `part` when they are divided into `parts`, by size.
        archives: whether archives among the targets are looked into; other batches have them where not.
        sources: whether the run's `--source` trees are reported with this batch.
        skip: `Artifact.display` of those that are left out.
        environment: the one that the targets lie in, where it is not the run's.
    """

    targets: tuple[str, ...]
    part: int = 0
    parts: int = 1
    archives: bool = True
    sources: bool = True
    skip: frozenset[str] = frozenset()
    environment: PythonEnvironment | None = None


class OpenedContainer(Struct, frozen=True):
    """A wheel, package or archive whose members follow, in this batch or in others too; its verdict is still open."""

    container: Container


class ScannedArtifact(Struct, frozen=True):
    """What became of one artifact.

    Attributes:
        display: `Artifact.display`.
        container: path of the container that it is a member of, None for a file by itself.
        reports: one for a shared object; none for a source without a finding, or where it could not be read.
    """

    display: str
    container: str | None
    reports: tuple[ArtifactReport, ...]


class BatchEnd(Struct, frozen=True):
    """What the batch says of the run as a whole, once its artifacts are through.

    Attributes:
        target: the torch that its files were judged against.
        notes: sentences for a person.
        silent_sources: how many sources were read and have no report, since no rule finds anything in them.
    """

    target: TorchBuild
    notes: tuple[str, ...]
    silent_sources: int = 0


Scanned = OpenedContainer | ScannedArtifact | InputError | BatchEnd


def plan(targets: Sequence[str], options: ScanOptions, jobs: int = 1) -> Iterator[Batch]:
    """The batches of a run for `jobs` processes, in a fixed order.

    Each archive is a batch of its own, as reading its directory is work too; where there are fewer archives than
    processes, large ones are divided by their members. What is no archive is divided by files.

    Raises:
        UsageError: a target does not exist.
    """
    first = True
    for environment, group in _by_environment(targets, options):
        own = options if environment is None else replace(options, environment=environment)
        for batch in _plan_environment(group, own, jobs):
            yield replace(batch, environment=environment, sources=first)
            first = False


def _by_environment(
    targets: Sequence[str], options: ScanOptions
) -> list[tuple[PythonEnvironment | None, tuple[str, ...]]]:
    """The targets by the environment that they lie in, None for the run's own, in the order of the first of each."""
    if options.python_named:
        return [(None, tuple(targets))]
    from abiscan.environment.owning_environment import owning_environment

    files, cwd = options.settings.files, options.settings.cwd
    of_directory: dict[str, PythonEnvironment | None] = {}
    groups: dict[PythonEnvironment | None, list[str]] = {}
    for target in targets:
        path = os.path.normpath(os.path.join(cwd, target))
        environment = None
        # A name with no such path here is a package of the run's environment, or is fetched.
        if target and files.is_named(path) and not named_like_archive(path):
            key = path if files.is_directory(path) else os.path.dirname(path)
            if key not in of_directory:
                of_directory[key] = owning_environment(path, options.environment, files)
            environment = of_directory[key]
        groups.setdefault(None if environment == options.environment else environment, []).append(target)
    return [(environment, tuple(group)) for environment, group in groups.items()]


def _plan_environment(targets: Sequence[str], options: ScanOptions, jobs: int) -> Iterator[Batch]:
    if jobs == 1:
        yield Batch(tuple(targets))
        return
    found = _archives(targets, options)
    if found.others:
        for part in range(jobs):
            yield Batch(tuple(targets), part, jobs, archives=False)
    for archive in found.archives:
        parts = 1 if len(found.archives) >= jobs else min(jobs, max(1, (_size_of(archive, options) or 0) // _PART))
        for part in range(parts):
            yield Batch((archive,), part, parts)


def archive_sizes(targets: Sequence[str], options: ScanOptions) -> dict[str, int]:
    """The archives that a run will read: display path -> size in bytes. What has gone by now is left out.

    Raises:
        UsageError: a target does not exist.
    """
    found = {display: _size_of(display, options) for display in _archives(targets, options).archives}
    return {options.called.get(display, display): size for display, size in found.items() if size is not None}


def _size_of(display: str, options: ScanOptions) -> int | None:
    try:
        return os.stat(options.settings.files.host(os.path.join(options.settings.cwd, display))).st_size
    except OSError:
        return None


def _archives(targets: Sequence[str], options: ScanOptions) -> Archives:
    return archives_of(
        targets,
        cwd=options.settings.cwd,
        environment_paths=site_packages(options),
        options=InputOptions(files=options.settings.files, called=options.called),
    )


def site_packages(options: ScanOptions) -> tuple[str, ...]:
    return options.environment.site_packages if options.environment is not None else ()


class Division:
    """Which part of a run an artifact belongs to: each goes where there is least so far, the largest of a group first,
    so that every process that sees the same artifacts comes to the same."""

    def __init__(self, parts: int) -> None:
        self._sizes = [0] * parts
        self._group: Group | None = None
        self._part_of: dict[str, int] = {}

    def part_of(self, artifact: Artifact) -> int:
        if artifact.group is not self._group:
            self._group = artifact.group
            self._part_of = {}
            for each in sorted(artifact.group, key=lambda each: (-each.size, each.display)):
                part = self._part_of[each.display] = self._sizes.index(min(self._sizes))
                self._sizes[part] += each.size + _WORK
        return self._part_of[artifact.display]
