"""The pipeline: targets and options -> Report. Read this first.

    plan -> batches -> (an executor) scan_batch -> stream of what was found -> finish_containers -> merge -> Report

and within a batch the passes of `passes.PASSES` over each artifact. Each
step is a function of earlier values; what a step could not read or decide is in the report.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from abiscan.analysis.batches import Scanned, archive_sizes, plan
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.executors import Executor, in_process
from abiscan.analysis.merge import Finished, finish_containers, merge
from abiscan.analysis.scan_options import ScanOptions
from abiscan.model.report import Report


def scan(targets: Sequence[str], options: ScanOptions, *, jobs: int = 1, executor: Executor = in_process) -> Report:
    """Look at everything that `targets` name.

    Args:
        jobs: how many processes the executor has: into how many batches a single file or archive is divided.

    Raises:
        UsageError: a target does not exist.
        UnknownBuild: `--torch` names no torch.
    """
    context = AnalysisContext(options)
    root = options.settings.files.shown or None
    return merge(_stream(targets, context, jobs, executor), context.rule_infos, root)


def scan_in(context: AnalysisContext, targets: Sequence[str]) -> Report:
    """Look at everything that `targets` name, with the services of a run that is under way: what several scans ask of
    the index and the demanglers is then looked up once.

    Raises:
        UsageError, UnknownBuild: as `scan`.
    """
    return merge(_stream(targets, context, 1, in_process), context.rule_infos)


def stream(
    targets: Sequence[str], options: ScanOptions, *, jobs: int = 1, executor: Executor = in_process
) -> Iterator[Finished]:
    """The same as it is found, in the order of the batches: no more is held than one container's members.

    Raises:
        UsageError, UnknownBuild: as `scan`, with the first item.
    """
    return _stream(targets, AnalysisContext(options), jobs, executor)


def _stream(targets: Sequence[str], context: AnalysisContext, jobs: int, executor: Executor) -> Iterator[Finished]:
    found = executor(plan(targets, context.options, jobs), context)
    return finish_containers(
        found if context.options.progress is None else _watched(found, targets, context), context.known_versions
    )


def _watched(found: Iterator[Scanned], targets: Sequence[str], context: AnalysisContext) -> Iterator[Scanned]:
    """The same, with the progress of the run told from its beginning to its end, whatever ends it."""
    progress = context.options.progress
    assert progress is not None
    try:
        progress.expect(archive_sizes(targets, context.options))
        yield from found
    finally:
        progress.at("")
