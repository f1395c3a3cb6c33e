"""Scan of one batch: check each artifact and yield its results."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from abiscan.analysis.batches import Batch, BatchEnd, Division, OpenedContainer, Scanned, ScannedArtifact, site_packages
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.shared_object import analyse_shared_object
from abiscan.errors import UnreadableFile
from abiscan.inputs import Artifact, Group, Note, expand
from abiscan.inputs import Options as InputOptions
from abiscan.model.limits import MIN_ON_DISK
from abiscan.model.report import ArtifactKind, ArtifactReport, InputError
from abiscan.target.unread_metadata import unknown_of, unread_requirements
from abiscan.wheel.container_facts import PLAIN

if TYPE_CHECKING:
    from abiscan.inputs.scratch import Scratch

# Archive members of at least this size in bytes are freed by an explicit collection, which takes some 50 ms.
_LARGE = 32 << 20


def _unpacked_first(
    found: Iterable[Artifact | InputError | Note], batch: Batch, scratch: Scratch
) -> Iterator[Artifact | InputError | Note]:
    """The artifacts, with the batch's members of each group unpacked before the first is checked, as far as there is
    space: no process then waits for a sibling that another one has not unpacked yet."""
    division = Division(batch.parts)
    group: Group | None = None
    for item in found:
        if isinstance(item, Artifact) and item.group is not group:
            group = item.group
            for each in group:
                own = division.part_of(each) == batch.part and each.kind is ArtifactKind.SHARED_OBJECT
                if own and each.size >= MIN_ON_DISK and scratch.has_room:
                    with contextlib.suppress(UnreadableFile):  # reported when it is checked
                        each.open_tables()
        yield item


def scan_batch(
    batch: Batch,
    context: AnalysisContext,
    starts: Callable[[str], object] = lambda _display: None,
    scratch: Scratch | None = None,
) -> Iterator[Scanned]:
    """Check the artifacts of a batch one after the other. Nothing of an artifact is kept for the next.

    Args:
        starts: called with `Artifact.display` before each.
        scratch: directory to which the archive of the batch is unpacked by all processes that have a part of it.

    Raises:
        UsageError: an input does not exist.
        UnknownBuild: `--torch` does not name a known torch.
    """
    context = context.for_environment(batch.environment)
    options = context.options
    found = expand(
        batch.targets,
        cwd=options.settings.cwd,
        environment_paths=site_packages(options),
        options=InputOptions(
            archives=batch.archives,
            files=options.settings.files,
            display_names=options.display_names,
            scratch=scratch,
            hashes=options.hashes,
            progress=options.progress,
        ),
    )
    yield from scan_items(found if scratch is None else _unpacked_first(found, batch, scratch), batch, context, starts)


def scan_items(
    found: Iterable[Artifact | InputError | Note],
    batch: Batch,
    context: AnalysisContext,
    starts: Callable[[str], object] = lambda _display: None,
) -> Iterator[Scanned]:
    """Check artifacts and containers from any source, such as stored facts.

    Raises:
        UnknownBuild: `--torch` does not name a known torch.
    """
    options = context.options
    if options.torch is not None:
        # Fail before the work: an unknown --torch is a usage error for every file.
        context.target.run_torch()
    notes: list[str] = []
    if batch.sources:
        yield from context.source_errors
    met: set[str] = set()
    # Path of the container of each group.
    opened: dict[str, str | None] = {}
    silent = 0
    division = Division(batch.parts)
    progress = options.progress
    for item in found:
        if isinstance(item, Artifact):
            group = item.group
            if batch.part == 0 and group.key not in met:
                met.add(group.key)
                for unread in unread_requirements(group.facts):
                    yield InputError(group.facts.path, unread)
            if (batch.parts > 1 and division.part_of(item) != batch.part) or item.display in batch.skip:
                continue
            starts(item.display)
            if group.key not in opened:
                opened[group.key] = None
                if group.facts.kind not in PLAIN:
                    from abiscan.analysis.containers import container_of

                    opened[group.key] = group.facts.path
                    notes += (f"{group.facts.path}: {unknown}" for unknown in unknown_of(group.facts))
                    yield OpenedContainer(container_of(group))
            if progress is not None:
                progress.at(item.display)
            reports = check_artifact(item, context)
            if isinstance(reports, InputError):
                yield reports
                reports = ()
            else:
                silent += not reports
            large = item.disk_path is None and item.size > _LARGE
            yield ScannedArtifact(item.display, opened[group.key], reports)
            del item, group
            if large:
                # Reference cycles of the loader model hold the unpacked bytes.
                gc.collect()
        elif batch.part == 0 and isinstance(item, Note):
            notes.append(f"{item.path}: {item.message}")
        elif batch.part == 0 and isinstance(item, InputError):
            yield item
    if batch.sources and context.sources:
        from abiscan.analysis.source_file import report_of_source

        for file in context.sources:
            yield ScannedArtifact(file.path, None, (report_of_source(file),))
    yield BatchEnd(context.target.run_torch().target, (*notes, *context.notes()), silent)


def check_artifact(artifact: Artifact, context: AnalysisContext) -> tuple[ArtifactReport, ...] | InputError:
    """The reports of one artifact, or why it cannot be read: one of a shared object, none of a source without a
    finding. Facts of a shared object are kept if a registry run asks for them.

    Raises:
        UnknownBuild: `--torch` does not name a known torch.
    """
    keeper = context.keeper
    try:
        if artifact.kind is not ArtifactKind.SHARED_OBJECT:
            from abiscan.analysis.source_file import analyse_source

            release = context.target.run_torch().target.version
            return tuple(analyse_source(artifact, context.options.settings.files, release))
        report = analyse_shared_object(artifact, context)
        if keeper is not None:
            keeper.keep(artifact)
        return (report,)
    except UnreadableFile as error:
        if keeper is not None:
            keeper.refuse(artifact, error.reason)
        return InputError(error.path, error.reason)
    finally:
        context.loader.forget()
