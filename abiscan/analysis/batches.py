"""Division of a run into batches. A batch is a value that any process can scan (`scan_batch.py`); an executor assigns
batches to processes (`executors.py`).
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

# Constant cost of a file (some 20 ms), in bytes that are unpacked in the same time.
_WORK = 16 << 20
# Packed bytes of an archive that justify another process, which costs some 0.06 s of CPU to start and to read the
# target environment.
_PART = 4 << 20


class Batch(Struct, frozen=True):
    """A part of a run.

    Attributes:
        targets: inputs as given on the command line, or one archive among them.
        part, parts: this batch has part number `part` of `parts` parts of the artifacts, divided by size.
        archives: whether archives among the inputs are scanned; if not, other batches have them.
        sources: whether this batch reports the `--source` trees of the run.
        skip: `Artifact.display` of artifacts to leave out.
        environment: the environment that contains the inputs, if it is not that of the run.
    """

    targets: tuple[str, ...]
    part: int = 0
    parts: int = 1
    archives: bool = True
    sources: bool = True
    skip: frozenset[str] = frozenset()
    environment: PythonEnvironment | None = None


class OpenedContainer(Struct, frozen=True):
    """A wheel, package or archive whose members follow in this batch or in others. It has no verdict yet."""

    container: Container


class ScannedArtifact(Struct, frozen=True):
    """Result of one artifact.

    Attributes:
        display: `Artifact.display`.
        container: path of its container; None if it is not a member of one.
        reports: one report for a shared object; none for a source without findings or an unreadable artifact.
    """

    display: str
    container: str | None
    reports: tuple[ArtifactReport, ...]


class BatchEnd(Struct, frozen=True):
    """Results of a batch that concern the run as a whole; the last item of a batch.

    Attributes:
        target: the torch that its files were checked against.
        notes: sentences for the text report.
        silent_sources: number of sources that were read and have no finding, so no report.
    """

    target: TorchBuild
    notes: tuple[str, ...]
    silent_sources: int = 0


Scanned = OpenedContainer | ScannedArtifact | InputError | BatchEnd


def plan(targets: Sequence[str], options: ScanOptions, jobs: int = 1) -> Iterator[Batch]:
    """The batches of a run for `jobs` processes, in a fixed order.

    Each archive is a batch, as reading its directory takes time too. If there are fewer archives than processes, large
    ones are divided by members. Other inputs are divided by files.

    Raises:
        UsageError: an input does not exist.
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
    """The inputs grouped by the environment that contains them, None for that of the run, in order of appearance."""
    if options.python_named:
        return [(None, tuple(targets))]
    from abiscan.environment.owning_environment import environments_of

    files, cwd = options.settings.files, options.settings.cwd
    of_directory: dict[str, tuple[PythonEnvironment, ...]] = {}
    groups: dict[PythonEnvironment | None, list[str]] = {}
    for target in targets:
        path = os.path.normpath(os.path.join(cwd, target))
        found: tuple[PythonEnvironment | None, ...] = ()
        # A name without a path is a package of the run's environment, or is fetched.
        if target and files.is_named(path) and not named_like_archive(path):
            key = path if files.is_directory(path) else os.path.dirname(path)
            if key not in of_directory:
                of_directory[key] = environments_of(path, options.environment, files)
            found = of_directory[key]
        for environment in found or (None,):
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
    """The archives that a run will read: display path -> size in bytes, without those that were removed meanwhile.

    Raises:
        UsageError: an input does not exist.
    """
    found = {display: _size_of(display, options) for display in _archives(targets, options).archives}
    return {options.display_names.get(display, display): size for display, size in found.items() if size is not None}


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
        options=InputOptions(files=options.settings.files, display_names=options.display_names),
    )


def site_packages(options: ScanOptions) -> tuple[str, ...]:
    return options.environment.site_packages if options.environment is not None else ()


class Division:
    """Assignment of artifacts to parts of a run: each goes to the smallest part so far, the largest of a group first.
    It is deterministic, so that every process computes the same division."""

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
