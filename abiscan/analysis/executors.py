"""`-j N`: the same scan in several processes, each with every N-th artifact."""

from __future__ import annotations

import os
from collections.abc import Sequence

from msgspec.structs import replace

from abiscan.analysis.context import ScanOptions, World
from abiscan.analysis.run import scan
from abiscan.model.report import Report


def scan_in_parallel(targets: Sequence[str], options: ScanOptions) -> Report:
    """Spread the artifacts over `options.jobs` processes; the report is that of one process.

    Raises:
        UsageError: as `scan`, from whichever process met it.
    """
    from concurrent.futures import ProcessPoolExecutor

    # Functions do not travel to another process, and shares of one progress line would overwrite each other.
    quiet = replace(options, progress=None)
    world = World(options)
    if options.torch is not None and os.path.isfile(options.torch) and options.cache is not None:
        # Read the wheel once: every process then finds it in the cache.
        world.chosen(os.uname().machine)
    with ProcessPoolExecutor(options.jobs) as pool:
        shares = [pool.submit(scan, tuple(targets), quiet, number, options.jobs) for number in range(options.jobs)]
        reports = [share.result() for share in shares]
    first = reports[0]
    report = replace(
        first,
        artifacts=tuple(sorted((a for r in reports for a in r.artifacts), key=lambda a: (a.path, a.member or ""))),
        errors=tuple(sorted({e for r in reports for e in r.errors}, key=lambda e: (e.path, e.message))),
        notes=tuple(dict.fromkeys(note for r in reports for note in r.notes)),
    )
    if not report.containers:
        return report
    from abiscan.analysis.containers import with_containers

    return with_containers(report, world.known_versions)
