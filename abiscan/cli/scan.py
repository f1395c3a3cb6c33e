"""`abiscan scan`."""

from __future__ import annotations

import os

import click

from abiscan.cli import completion
from abiscan.cli.examples import EXAMPLES
from abiscan.cli.options import strings, text_option
from abiscan.cli.run_scan import run_scan
from abiscan.model.versions import is_version


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
    metavar="[VERSION]",
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
    ctx.exit(run_scan(_with_target_behind_option(given)))


def _with_target_behind_option(given: dict[str, object]) -> dict[str, object]:
    """The release behind --require-stable-abi may be left out: a file that stands there is a target."""
    named = text_option(given["require_stable_abi"])
    if named is None or named == "any" or is_version(named) or not os.path.exists(named):
        return given
    return given | {"require_stable_abi": "any", "targets": (named, *strings(given["targets"]))}
