"""A run in parts: `plan` divides it, `scan_share` looks at one part and hands on what it finds as it finds it.

A share is a value, so that any process can scan it; who does is an executor's affair (`executors.py`).
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.analysis.containers import container_of
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.scan_options import ScanOptions
from abiscan.analysis.shared_object import analyse_shared_object
from abiscan.errors import UnreadableFile
from abiscan.inputs import Archives, Artifact, Group, Note, archives_of, expand
from abiscan.inputs import Options as TargetOptions
from abiscan.model.limits import MIN_ON_DISK
from abiscan.model.report import ArtifactKind, ArtifactReport, Container, InputError
from abiscan.model.target import Target
from abiscan.target.declared import unread_of
from abiscan.target.run_torch import FALLBACK_MACHINE

if TYPE_CHECKING:
    from abiscan.inputs.scratch import Scratch

# Members of archives from this size on, in bytes, are freed at once and not when the collector comes by, in some 50 ms.
_LARGE = 32 << 20
# What looking at a file takes whatever its size, in bytes that are unpacked in the same time: some 20 ms.
_WORK = 16 << 20
# How much of an archive, in bytes as it is packed, is worth another process, which starts and reads what all files are
# judged in anew, in some 0.06 s of CPU.
_PART = 4 << 20


class Share(Struct, frozen=True):
    """A part of a run.

    Attributes:
        targets: as the user named them, or one archive among them.
        part, parts: of the artifacts of the targets those of number `part` when they are divided into `parts`, by size.
        archives: whether archives among the targets are looked into; other shares have them where not.
        sources: whether the run's `--source` trees are reported with this share.
        skip: `Artifact.display` of those that are left out.
    """

    targets: tuple[str, ...]
    part: int = 0
    parts: int = 1
    archives: bool = True
    sources: bool = True
    skip: frozenset[str] = frozenset()


class OpenedContainer(Struct, frozen=True):
    """A wheel, package or archive whose members follow, in this share or in others too; its verdict is still open."""

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


class ShareEnd(Struct, frozen=True):
    """What the share says of the run as a whole, once its artifacts are through.

    Attributes:
        target: the torch that its files were judged against.
        notes: sentences for a person.
        silent_sources: how many sources were read and have no report, since no rule finds anything in them.
    """

    target: Target
    notes: tuple[str, ...]
    silent_sources: int = 0


Scanned = OpenedContainer | ScannedArtifact | InputError | ShareEnd


def plan(targets: Sequence[str], options: ScanOptions, jobs: int = 1) -> Iterator[Share]:
    """The shares of a run for `jobs` processes, in a fixed order.

    Each archive is a share of its own, as reading its directory is work too; where there are fewer archives than
    processes, large ones are divided by their members. What is no archive is divided by files.

    Raises:
        UsageError: a target does not exist.
    """
    if jobs == 1:
        yield Share(tuple(targets))
        return
    found = _archives(targets, options)
    first = True
    if found.others:
        for part in range(jobs):
            yield Share(tuple(targets), part, jobs, archives=False, sources=first)
            first = False
    for archive in found.archives:
        parts = 1 if len(found.archives) >= jobs else min(jobs, max(1, (_size_of(archive, options) or 0) // _PART))
        for part in range(parts):
            yield Share((archive,), part, parts, sources=first)
            first = False


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
        environment_paths=_site_packages(options),
        options=TargetOptions(files=options.settings.files, called=options.called),
    )


def _site_packages(options: ScanOptions) -> tuple[str, ...]:
    return options.environment.site_packages if options.environment is not None else ()


class _Division:
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


def _unpacked_first(
    found: Iterable[Artifact | InputError | Note], share: Share, scratch: Scratch
) -> Iterator[Artifact | InputError | Note]:
    """The same, with the share's own members of each group unpacked before the first is looked at, as far as there is
    room: nobody waits then for a sibling that another process has not come to."""
    division = _Division(share.parts)
    group: Group | None = None
    for item in found:
        if isinstance(item, Artifact) and item.group is not group:
            group = item.group
            for each in group:
                own = division.part_of(each) == share.part and each.kind is ArtifactKind.SHARED_OBJECT
                if own and each.size >= MIN_ON_DISK and scratch.has_room:
                    with contextlib.suppress(UnreadableFile):  # told when it is looked at
                        each.open_tables()
        yield item


def scan_share(
    share: Share,
    context: AnalysisContext,
    starts: Callable[[str], object] = lambda _display: None,
    scratch: Scratch | None = None,
) -> Iterator[Scanned]:
    """Look at every artifact of a share, one after the other; nothing of one is kept when the next comes.

    Args:
        starts: called with `Artifact.display` before each.
        scratch: where the share's one archive is unpacked to, by all processes that have a part of it.

    Raises:
        UsageError: a target does not exist.
        UnknownBuild: `--torch` names no torch.
    """
    options = context.options
    found = expand(
        share.targets,
        cwd=options.settings.cwd,
        environment_paths=_site_packages(options),
        options=TargetOptions(
            archives=share.archives,
            files=options.settings.files,
            called=options.called,
            scratch=scratch,
            hashes=options.hashes,
            progress=options.progress,
        ),
    )
    yield from scan_items(found if scratch is None else _unpacked_first(found, share, scratch), share, context, starts)


def scan_items(
    found: Iterable[Artifact | InputError | Note],
    share: Share,
    context: AnalysisContext,
    starts: Callable[[str], object] = lambda _display: None,
) -> Iterator[Scanned]:
    """The same of what the share's targets hold, wherever it comes from.

    Raises:
        UnknownBuild: `--torch` names no torch.
    """
    options = context.options
    if options.torch is not None:
        # Fail before the work, not after it: an unknown --torch is a usage error whatever the files are.
        context.target.of_run(FALLBACK_MACHINE)
    notes: list[str] = []
    if share.sources:
        yield from context.source_errors
    opened: set[str] = set()
    number = silent = 0
    division = _Division(share.parts)
    progress = options.progress
    for item in found:
        if isinstance(item, Artifact):
            number += 1
            if (share.parts > 1 and division.part_of(item) != share.part) or item.display in share.skip:
                continue
            starts(item.display)
            container = container_of(item.group)
            if container is not None and item.group.key not in opened:
                opened.add(item.group.key)
                notes += (f"{container.path}: {unread}" for unread in unread_of(item.group.facts))
                yield OpenedContainer(container)
            if progress is not None:
                progress.at(item.display)
            reports: tuple[ArtifactReport, ...] = ()
            try:
                reports = tuple(analyse(item, context))
                silent += not reports
                if context.keeper is not None and item.kind is ArtifactKind.SHARED_OBJECT:
                    context.keeper.keep(item)
            except UnreadableFile as error:
                if context.keeper is not None:
                    context.keeper.refuse(item, error.reason)
                yield InputError(error.path, error.reason)
            context.loader.forget()
            large = item.disk_path is None and item.size > _LARGE
            yield ScannedArtifact(item.display, None if container is None else container.path, reports)
            del item
            if large:
                # What it was unpacked into is held by cycles of the loader's model.
                gc.collect()
        elif share.part == 0 and isinstance(item, Note):
            notes.append(f"{item.path}: {item.message}")
        elif share.part == 0 and isinstance(item, InputError):
            yield item
    if share.sources and context.sources:
        from abiscan.analysis.source_file import report_of_source

        for file in context.sources:
            yield ScannedArtifact(file.path, None, (report_of_source(file),))
    yield ShareEnd(context.target.of_run(FALLBACK_MACHINE).target, (*notes, *context.notes()), silent)


def analyse(artifact: Artifact, context: AnalysisContext) -> Iterator[ArtifactReport]:
    """The report of one artifact; none for a source without a finding.

    Raises:
        UnreadableFile: it is no shared object after all.
    """
    if artifact.kind is ArtifactKind.SHARED_OBJECT:
        yield analyse_shared_object(artifact, context)
    else:
        from abiscan.analysis.source_file import analyse_source

        yield from analyse_source(artifact, context.options.settings.files)
