"""What `abiscan scan` does once its options are read. click is no part of it: a scan without options starts without."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan.cli.exit_status import PASS, STATUS
from abiscan.cli.options import file_system, policy_of, scan_options, style_for, today
from abiscan.cli.output import check_writable, emit, outputs_of, read_baseline_file, safe, tell, write
from abiscan.errors import UsageError

if TYPE_CHECKING:
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.cli.command_line import CommandLine
    from abiscan.model.history import RunSummary
    from abiscan.model.report import Report


def run_scan(line: CommandLine) -> int:
    """Scan, write the reports and return the exit status.

    Args:
        line: the targets and options of `abiscan scan`.

    Raises:
        UsageError: they cannot be used.
    """
    from abiscan.gate.apply import apply
    from abiscan.inputs import read_target_list
    from abiscan.inputs.expand import is_fetched

    cwd = os.getcwd()
    tables = any(each.partition(":")[0] == "parquet" for each in line.formats)
    if line.resume is not None or tables:
        from abiscan.cli.registry_run import scan_registry

        return scan_registry(line)
    for option in ("engine", "time_limit", "memory_limit"):
        if getattr(line, option) is not None:
            raise UsageError(f"--{option.replace('_', '-')} is for tables: -f parquet:DIR")
    targets = [*line.targets]
    for name in line.lists:
        targets += read_target_list(name, cwd=cwd)
    files = file_system(line.root)
    targets = [files.inside(target, cwd) for target in targets]
    if not targets:
        raise UsageError("name at least one shared object, wheel, directory or package (see abiscan scan --help)")
    policy, notes = policy_of(line)
    baseline = None
    if line.write_baseline is None and policy.baseline is not None:
        from abiscan.gate.baseline import read_baseline

        baseline = read_baseline(read_baseline_file(policy.baseline, own=policy.baseline_found), policy.baseline)
    outputs = outputs_of(line.formats)
    earlier = _earlier_runs(line.history, [name for name, _ in outputs])
    names: dict[str, str] = {}
    if any(map(is_fetched, targets)):
        from abiscan.cli.fetched import called, local_targets

        asked, targets = targets, local_targets(targets, line)
        names = called(asked, targets)
    target = line.write_baseline
    check_writable([path for path in (*(path for _, path in outputs), target) if path is not None])
    # The page's first table asks every release; that adds about a tenth to the time of a scan.
    matrix = policy.require_torch is not None or any(name == "html" for name, _ in outputs)
    # The text of one file names its operators with -v; looking for them in a large one takes as long as all else.
    operators = len(targets) > 1 or line.verbose or any(name != "text" for name, _ in outputs)
    options = scan_options(line, files, matrix=matrix, within=policy.require_torch, operators=operators, called=names)
    if ("text", None) not in outputs:
        for note in notes:
            tell(f"abiscan: {safe(note)}")
    found = _run(targets, options, line.jobs)
    found = replace(found, notes=(*notes, *found.notes))
    day = today() if policy.ignores else None
    report = apply(found, policy, baseline, day)
    if target is not None:
        from abiscan.gate.baseline import read_baseline, write_baseline

        accepted = write_baseline(report)
        write(target, accepted)
        # From here on what is told is what the next run will say, with the baseline that was just written.
        report = apply(found, policy, read_baseline(accepted, target), day)
        tell(f"abiscan: wrote the baseline {target}")
    style = style_for(line, sys.stdout)
    for name, path in outputs:
        emit(report, name, path, style, earlier)
    if not line.quiet:
        from abiscan.report.text import summary_line

        tell(f"abiscan: {summary_line(report, style_for(line, sys.stderr))}")
    if target is not None:
        return PASS
    return STATUS[report.verdict.value]


def _earlier_runs(directory: str | None, formats: Sequence[str]) -> Sequence[RunSummary]:
    if directory is None:
        return ()
    if "html" not in formats:
        raise UsageError("--history is for the page: add -f html:FILE")
    from abiscan.cli.earlier_runs import read_earlier_runs

    found = read_earlier_runs(directory)
    if not found:
        tell(f"abiscan: --history {directory}: no *.json in it yet: the page has no trends")
    return found


def _run(targets: Sequence[str], options: ScanOptions, asked: int | None) -> Report:
    from abiscan.analysis.executors import default_jobs, in_children, in_process, process_pool
    from abiscan.analysis.run import scan

    if options.timings is not None:
        found = scan(targets, options, executor=in_process)
        for name, seconds in options.timings.items():
            tell(f"abiscan: {seconds * 1000:9.2f} ms  {name}")
        return found
    jobs = default_jobs(targets, options) if asked is None else asked
    if jobs == 1:
        return scan(targets, options, executor=in_children)
    return scan(targets, options, jobs=jobs, executor=process_pool(jobs))
