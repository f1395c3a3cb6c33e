"""The pipeline from inputs and options to a report. Read this first.

    plan -> batches -> (an executor) scan_batch -> stream of results -> finish_containers -> merge -> Report

In a batch, the passes of `passes.PASSES` run over each artifact. Each step is a function of earlier values. The report
contains what a step could not read or decide.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from abiscan.analysis.batches import Scanned, archive_sizes, plan
from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.executors import Executor, in_process
from abiscan.analysis.merge import Finished, finish_containers, merge
from abiscan.analysis.scan_options import ScanOptions
from abiscan.model.report import Report

if TYPE_CHECKING:
    from abiscan.model.progress import Progress


def scan(
    targets: Sequence[str],
    options: ScanOptions,
    *,
    jobs: int = 1,
    executor: Executor = in_process,
    watch: Callable[[Finished], None] | None = None,
) -> Report:
    """Scan all inputs.

    Args:
        targets: paths, URLs or package names, as on the command line.
        jobs: number of processes of the executor; a single archive is divided into that many batches.
        watch: called with each result when it is finished, in the order of inputs.

    Raises:
        UsageError: an input does not exist.
        UnknownBuild: `--torch` does not name a known torch.
    """
    context = AnalysisContext(options)
    results = stream(targets, context, jobs=jobs, executor=executor)
    if watch is not None:
        results = _shown(results, watch)
    return merge(results, context.rule_infos, options.settings.files.shown or None)


def scan_in(context: AnalysisContext, targets: Sequence[str]) -> Report:
    """Scan all inputs with the services of another run, so that lookups in the index and demangled names are shared.

    Raises:
        UsageError, UnknownBuild: as `scan`.
    """
    return merge(stream(targets, context), context.rule_infos)


def stream(
    targets: Sequence[str], context: AnalysisContext, *, jobs: int = 1, executor: Executor = in_process
) -> Iterator[Finished]:
    """The results as they are found, in the order of batches. Only the members of one container are held.

    Raises:
        UsageError, UnknownBuild: as `scan`, with the first item.
    """
    found = executor(plan(targets, context.options, jobs), context)
    if context.options.progress is not None:
        found = _watched(found, context.options.progress, targets, context.options)
    return finish_containers(found, context.known_versions)


def _shown(results: Iterator[Finished], watch: Callable[[Finished], None]) -> Iterator[Finished]:
    for each in results:
        watch(each)
        yield each


def _watched(
    found: Iterator[Scanned], progress: Progress, targets: Sequence[str], options: ScanOptions
) -> Iterator[Scanned]:
    """The stream, with progress reports from the beginning to the end, also after an error."""
    try:
        progress.expect(archive_sizes(targets, options))
        yield from found
    finally:
        progress.at("")
