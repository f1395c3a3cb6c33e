"""`abiscan scan`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from abiscan.cli import completion
from abiscan.cli.examples import EXAMPLES
from abiscan.cli.exit_status import PASS, STATUS
from abiscan.cli.options import file_system, policy_of, scan_options, strings, style_for, text_option, today
from abiscan.cli.output import check_writable, emit, outputs_of, read_baseline_file, write
from abiscan.errors import UsageError

if TYPE_CHECKING:
    from abiscan.analysis.scan_options import ScanOptions
    from abiscan.model.history import RunSummary
    from abiscan.model.report import Report


@click.command(epilog=EXAMPLES)
@click.argument("targets", nargs=-1, metavar="TARGET...", shell_complete=completion.targets)
@click.option("-r", "--targets-from", "lists", multiple=True, metavar="FILE", help="More targets, one a line.")
@click.option(
    "--torch",
    metavar="SPEC",
    shell_complete=completion.torches,
    help="Resolve against: installed, declared, a release (2.6.0, 2.6.0+cu124), or a path.",
)
@click.option("--python", metavar="PATH", help="Whose environment to look at: an interpreter or a virtual environment.")
@click.option(
    "--root", metavar="DIR", help="Look at the file system in DIR (an unpacked image) and at nothing outside."
)
@click.option(
    "--gpu",
    "gpus",
    multiple=True,
    metavar="ARCH",
    help="A GPU that must run its kernels: sm_90, gfx942, or here; repeatable, or with commas.",
)
@click.option("--matrix", is_flag=True, help="Also judge every known torch build of the file's architecture.")
@click.option("--source", "sources", multiple=True, metavar="DIR", help="Find the flagged calls in these sources.")
@click.option(
    "-f",
    "--format",
    "formats",
    multiple=True,
    metavar="NAME[:FILE]",
    shell_complete=completion.formats,
    help="text, json, ndjson, sarif, junit, github, markdown, html; repeatable. parquet:DIR: tables of many wheels.",
)
@click.option("--resume", metavar="DIR", help="Go on with the tables in DIR: what is done there is not done again.")
@click.option("--engine", metavar="ENGINE", help="Who scans for tables: local (default), ray, or ray:ADDRESS.")
@click.option("--time-limit", type=click.FloatRange(min=1), metavar="SECONDS", help="For each wheel of tables.")
@click.option("--memory-limit", type=click.IntRange(min=256), metavar="MIB", help="For each wheel of tables.")
@click.option(
    "--imports",
    type=click.Choice(["all", "unresolved"]),
    help="Imports that -f json lists (default: all); they are all counted.",
)
@click.option(
    "--history",
    metavar="DIR",
    help="JSON reports of earlier runs (*.json): the page shows windows and findings over time.",
)
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning", "note", "never"]),
    help="Lowest severity that fails the run (default: error).",
)
@click.option(
    "--select",
    multiple=True,
    metavar="RULE",
    shell_complete=completion.rules,
    help="Only these rules; repeatable, or with commas.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="RULE",
    shell_complete=completion.rules,
    help="Not these rules; repeatable, or with commas.",
)
@click.option("--baseline", metavar="FILE", help="Accept what this file lists; only what is new fails.")
@click.option("--write-baseline", metavar="FILE", help="Write what is found now as the baseline, and pass.")
@click.option("--no-stale", is_flag=True, help="Let baseline entries pass that match nothing any more.")
@click.option("--require-torch", metavar="SPEC", help="Every build in this range must load the file ('>=2.4,<2.9').")
@click.option(
    "--require-stable-abi",
    metavar="VERSION",
    is_flag=False,
    flag_value="any",
    help="Only torch's stable C ABI may be imported (of at most this release).",
)
@click.option("--config", metavar="FILE", help="Default: [tool.abiscan] in pyproject.toml, or abiscan.toml, upward.")
@click.option("--hash", "hashes", is_flag=True, help="sha256 of every file in the report (reads all of it).")
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Processes (default: 1).")
@click.option("-q", "--quiet", is_flag=True, help="Only what fails.")
@click.option("-v", "--verbose", is_flag=True, help="All imports, all symbols, all releases.")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", help="Default: auto.")
@click.pass_context
def scan(ctx: click.Context, /, **given: object) -> None:
    """Say whether TARGET... load, why not, and what to do.

    TARGET is a shared object (any name), a wheel or archive, a directory, a source file or tree, or the name of an
    installed package. NAME==VERSION and the URL of a wheel are fetched, by pip and as its configuration says.
    """
    ctx.exit(_scan(given))


def _scan(given: dict[str, object]) -> int:
    from abiscan.gate.apply import apply
    from abiscan.targets import read_target_list
    from abiscan.targets.expand import is_fetched

    cwd = os.getcwd()
    if given["resume"] is not None or any(each.partition(":")[0] == "parquet" for each in strings(given["formats"])):
        from abiscan.cli.registry_run import scan_registry

        return scan_registry(given)
    for option in ("engine", "time_limit", "memory_limit"):
        if given[option] is not None:
            raise UsageError(f"--{option.replace('_', '-')} is for tables: -f parquet:DIR")
    targets = [*strings(given["targets"])]
    for name in strings(given["lists"]):
        targets += read_target_list(name, cwd=cwd)
    files = file_system(text_option(given["root"]))
    targets = [files.inside(target, cwd) for target in targets]
    if not targets:
        raise UsageError("name at least one shared object, wheel, directory or package (see abiscan scan --help)")
    policy = policy_of(given)
    baseline = None
    if given["write_baseline"] is None and policy.baseline is not None:
        from abiscan.gate.baseline import read_baseline

        baseline = read_baseline(read_baseline_file(policy.baseline), policy.baseline)
    outputs = outputs_of(strings(given["formats"]))
    earlier = _earlier_runs(text_option(given["history"]), [name for name, _ in outputs])
    if any(map(is_fetched, targets)):
        from abiscan.cli.fetched import local_targets

        targets = local_targets(targets, given)
    target = text_option(given["write_baseline"])
    check_writable([path for path in (*(path for _, path in outputs), target) if path is not None])
    # The page's first table asks every release; that adds about a tenth to the time of a scan.
    matrix = policy.require_torch is not None or any(name == "html" for name, _ in outputs)
    options = scan_options(given, files, matrix=matrix, within=policy.require_torch)
    found = _run(targets, options, int(str(given["jobs"])))
    day = today() if policy.ignores else None
    report = apply(found, policy, baseline, day)
    if target is not None:
        from abiscan.gate.baseline import read_baseline, write_baseline

        accepted = write_baseline(report)
        write(target, accepted)
        # From here on what is told is what the next run will say, with the baseline that was just written.
        report = apply(found, policy, read_baseline(accepted, target), day)
        click.echo(f"abiscan: wrote the baseline {target}", err=True)
    style = style_for(given, sys.stdout)
    for name, path in outputs:
        emit(report, name, path, style, earlier)
    if not given["quiet"]:
        from abiscan.report.text import summary_line

        click.echo(f"abiscan: {summary_line(report, style_for(given, sys.stderr))}", err=True, color=True)
    if target is not None:
        return PASS
    return STATUS[report.verdict.value]


def _earlier_runs(directory: str | None, formats: Sequence[str]) -> Sequence[RunSummary]:
    if directory is None:
        return ()
    if "html" not in formats:
        raise UsageError("--history is for the page: add -f html:FILE")
    from abiscan.cli.earlier_runs import read_earlier_runs

    return read_earlier_runs(directory)


def _run(targets: Sequence[str], options: ScanOptions, jobs: int) -> Report:
    from abiscan.analysis.executors import in_children, process_pool
    from abiscan.analysis.run import scan as run_scan

    if jobs == 1:
        return run_scan(targets, options, executor=in_children)
    return run_scan(targets, options, jobs=jobs, executor=process_pool(jobs))
