"""Runs `abiscan scan` after its options are read. Does not import click: a scan without options starts without it."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from abiscan.cli.exit_status import INTERRUPTED, PASS, STATUS
from abiscan.cli.options import file_system, policy_of, scan_options, today
from abiscan.cli.output import (
    check_writable,
    note,
    outputs_of,
    print_stderr,
    read_baseline_file,
    style_for,
    write,
    write_outputs,
)
from abiscan.errors import UsageError
from abiscan.model.limits import MAX_SITES

if TYPE_CHECKING:
    from datetime import date

    from abiscan.analysis.merge import Finished
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.cli.command_line import CommandLine
    from abiscan.gate.baseline import Baseline
    from abiscan.gate.policy import Policy
    from abiscan.model.history import RunSummary
    from abiscan.model.report import Report
    from abiscan.report.style import Style


class _Request(Struct, frozen=True):
    """What a command line asks for.

    Attributes:
        targets: paths of this machine; what was fetched is below a directory of its own.
        display_names: path of a fetched target -> its name in the report.
        notes: on the policy.
        earlier: the runs of --history.
    """

    line: CommandLine
    targets: list[str]
    display_names: dict[str, str]
    policy: Policy
    notes: tuple[str, ...]
    baseline: Baseline | None
    outputs: list[tuple[str, str | None]]
    earlier: Sequence[RunSummary]

    @property
    def today(self) -> date | None:
        """The day on which ignored findings may have expired; None if none are ignored."""
        return today() if self.policy.ignores else None


def run_scan(line: CommandLine) -> int:
    """Scan, write the reports and return the exit status.

    Args:
        line: targets and options of `abiscan scan`.

    Raises:
        UsageError: they cannot be used.
    """
    from abiscan.analysis.merge import ScanInterrupted
    from abiscan.gate.apply import apply

    request = _request_of(line)
    options = _scan_options(request)
    if ("text", None) not in request.outputs:
        for each in request.notes:
            note(each)
    watch = None
    if line.json_lines:
        from abiscan.cli.events import print_event

        watch = print_event
    try:
        found = _run(request.targets, options, line.jobs, watch)
        published = None if line.baseline_release is None else _published(line, request.policy, found, options)
    except ScanInterrupted as stop:
        from abiscan.report.summary import count_line

        # Only a complete run shows whether a baseline entry is stale.
        partial = replace(apply(stop.report, request.policy, request.baseline, request.today), stale=())
        note(f"interrupted, and no report written; so far {count_line(partial)}")
        return INTERRUPTED
    found = replace(found, notes=(*request.notes, *found.notes))
    report = apply(found, request.policy, request.baseline, request.today, published)
    if line.write_baseline is not None:
        from abiscan.gate.baseline import read_baseline, write_baseline

        accepted = write_baseline(report)
        write(line.write_baseline, accepted)
        # Report what the next run reports, with the baseline that was just written.
        written = read_baseline(accepted, line.write_baseline)
        report = apply(found, request.policy, written, request.today, published)
        note(f"wrote the baseline {line.write_baseline}")
    return _write_report(report, request)


def _request_of(line: CommandLine) -> _Request:
    """Read and check what the command line names, before anything is scanned."""
    from abiscan.inputs import read_target_list
    from abiscan.inputs.expand import is_fetched
    from abiscan.report import FORMATS

    cwd = os.getcwd()
    targets = [*line.targets]
    for name in line.inputs_from:
        targets += read_target_list(name, cwd=cwd)
    files = file_system(line.root)
    targets = [files.inside(target, cwd) for target in targets]
    if not targets:
        raise UsageError("missing PATH: pass a shared object, wheel, directory or package (see abiscan scan --help)")
    policy, notes = policy_of(line)
    for option, file in (("--baseline", line.baseline), ("--write-baseline", line.write_baseline)):
        if file == "-":
            raise UsageError(f"{option} needs the name of a file (`./-` if its name is `-`)")
    baseline = None
    if line.write_baseline is None and policy.baseline is not None:
        from abiscan.gate.baseline import read_baseline

        baseline = read_baseline(read_baseline_file(policy.baseline, own=policy.baseline_found), policy.baseline)
    inputs = [each for each in (*targets, *line.inputs_from, policy.baseline, line.config) if each is not None]
    outputs = _outputs(line, inputs, FORMATS)
    earlier = _earlier_runs(line.history, [name for name, _ in outputs])
    names: dict[str, str] = {}
    if any(map(is_fetched, targets)):
        from abiscan.cli.fetched import display_names, local_targets

        asked, targets = targets, local_targets(targets, line)
        names = display_names(asked, targets)
    if line.write_baseline is not None:
        check_writable([line.write_baseline], [*targets, *line.inputs_from])
    return _Request(line, targets, names, policy, notes, baseline, outputs, earlier)


def _scan_options(request: _Request) -> ScanOptions:
    """The options of the scan, with what only some formats print."""
    from abiscan.report.problems_text import PLACES

    line, outputs = request.line, request.outputs
    # Without -v the text lists no imports, that for one file no operators, and that of a finding two places. To find
    # all of them in a large file takes as long as everything else.
    brief = line.verbose == 0 and all(name == "text" for name, _ in outputs)
    return scan_options(
        line,
        file_system(line.root),
        # The first table of the HTML page needs every release. This adds about a tenth to the time of a scan.
        matrix=request.policy.require_torch is not None or any(name == "html" for name, _ in outputs),
        operators=len(request.targets) > 1 or not brief,
        import_details=line.json_lines or not brief,
        sites=PLACES[0] if brief else MAX_SITES,
        display_names=request.display_names,
    )


def _write_report(report: Report, request: _Request) -> int:
    """Write the report in each format, and return the exit status."""
    line = request.line
    write_outputs(request.outputs, line, lambda name, style: _render(report, name, style, request.earlier))
    if not line.quiet:
        from abiscan.report.text import summary_line

        print_stderr(f"abiscan: {summary_line(report, style_for(line, sys.stderr))}")
    status = PASS if line.write_baseline is not None or line.exit_zero else STATUS[report.verdict.value]
    if line.json_lines:
        from abiscan.cli.events import print_summary

        print_summary(report, status)
    return status


def _outputs(line: CommandLine, inputs: Sequence[str], formats: Iterable[str]) -> list[tuple[str, str | None]]:
    """The formats and their files; with --json-lines none for standard output."""
    asked = (*line.format, *(["statistics"] if line.statistics else []))
    if not line.json_lines:
        return outputs_of(asked, formats, inputs)
    outputs = outputs_of(asked, formats, inputs) if asked else []
    for name, path in outputs:
        if path is None:
            raise UsageError(f"--json-lines and {name} for standard output: give {name} a file (-f {name}:FILE)")
    return outputs


def _published(line: CommandLine, policy: Policy, found: Report, options: ScanOptions) -> Baseline:
    from abiscan.cli.published_baseline import release_wheels
    from abiscan.gate.apply import apply
    from abiscan.gate.baseline import read_baseline, write_baseline

    assert line.baseline_release is not None
    wheels, where = release_wheels(line.baseline_release, found, line)
    names = {path: os.path.basename(path) for path in wheels}
    report = apply(_run(wheels, replace(options, display_names=names), line.jobs), policy)
    return replace(read_baseline(write_baseline(report), where), target=None)


def _render(report: Report, name: str, style: Style, earlier: Sequence[RunSummary]) -> str:
    from abiscan import report as formats

    if name in ("text", "concise"):
        from abiscan.report.escape import safe_text

        module = importlib.import_module(f"abiscan.report.{name}")
        return safe_text(module.render(report, style))
    if name in _OF_REPOSITORY:
        report = _with_repository_paths(report)
    if name != "html":
        return formats.render(name, report)
    from abiscan.compare.run_summary import find_run_compatibility, summarise_run

    compatibility = find_run_compatibility(report)
    runs = [*earlier, summarise_run(report, compatibility, "now")] if earlier else []
    return formats.page(report, compatibility, runs)


# Formats with repository paths, and the variables with the directory of the checkout on CI servers.
_OF_REPOSITORY = ("github", "sarif")
_CHECKOUTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")


def _with_repository_paths(report: Report) -> Report:
    """The report with paths relative to the checkout, if the command runs in a folder of it."""
    repository = next(filter(None, map(os.environ.get, _CHECKOUTS)), None)
    if repository is None or report.root is not None:
        return report
    from abiscan.report.repository_paths import with_repository_paths

    return with_repository_paths(report, os.path.abspath(repository), os.getcwd(), os.path.exists)


def _earlier_runs(directory: str | None, formats: Sequence[str]) -> Sequence[RunSummary]:
    if directory is None:
        return ()
    if "html" not in formats:
        raise UsageError("--history needs -f html:FILE")
    from abiscan.compare.earlier_runs import read_earlier_runs

    found = read_earlier_runs(directory)
    if not found:
        note(f"--history {directory}: no *.json in it; the page will have no trends")
    return found


def _run(
    targets: Sequence[str], options: ScanOptions, asked: int | None, watch: Callable[[Finished], None] | None = None
) -> Report:
    from abiscan.analysis.executors import default_jobs, in_children, in_process
    from abiscan.analysis.run import scan

    if options.timings is not None:
        found = scan(targets, options, executor=in_process, watch=watch)
        for name, seconds in options.timings.items():
            note(f"{seconds * 1000:9.2f} ms  {name}")
        return found
    jobs = default_jobs(targets, options) if asked is None else asked
    return scan(targets, options, jobs=jobs, executor=in_children(jobs), watch=watch)
