"""`abiscan rejudge`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from abiscan.cli import completion
from abiscan.cli.command_line import CommandLine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from abiscan.registry.unit import Unit


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(exists=True, file_okay=False))
@click.option(
    "--torch", metavar="SPEC", shell_complete=completion.torches, help="A release, or declared (default: declared)."
)
@click.option("--gpu", "gpus", multiple=True, metavar="ARCH", help="A GPU that must run its kernels; repeatable.")
@click.option("--driver", metavar="VERSION", help="Beside --gpu: the version of NVIDIA's driver (535.104.05).")
@click.option("--fail-on", type=click.Choice(["error", "warning", "note", "never"]), help="As of abiscan scan.")
@click.option("--select", multiple=True, metavar="RULE", help="Only these rules; repeatable, or with commas.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Not these rules; repeatable, or with commas.")
@click.option("--require-torch", metavar="SPEC", help="Every build in this range must load the file ('>=2.4,<2.9').")
@click.option("--config", metavar="FILE", help="As of abiscan scan.")
@click.option("--engine", metavar="ENGINE", help="local (default), ray, or ray:ADDRESS.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="Processes (default: 1).")
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
@click.pass_context
def rejudge(ctx: click.Context, /, directory: str, **given: Any) -> None:
    """Judge the wheels whose facts are stored in DIR against another release, without reading one of them."""
    from abiscan.cli.registry_run import kept, needs, now, shown, told, work_of

    needs("pyarrow")
    from abiscan.registry.engines import engine_of
    from abiscan.registry.run_folder import all_wheels, runs_of, runs_with_tables
    from abiscan.registry.run_units import asked_of, run_units
    from abiscan.registry.store import open_run
    from abiscan.registry.stored_facts import FactsOf
    from abiscan.registry.unit import Unit

    line = CommandLine(**given)
    work = work_of(line)
    asked = asked_of(work)
    runs_with_tables(directory)
    if any(run.ended is None and run.asked != asked for run in runs_of(directory)):
        click.echo(
            f"abiscan: a run in {directory} has not come to its end, and what it has no tables of is not judged again: "
            f"go on with abiscan scan TARGET... --resume {directory}",
            err=True,
        )
    facts, paths = FactsOf(directory), all_wheels(directory)

    def units() -> Iterator[Unit]:
        stored = set()
        for path, identity in facts.paths():
            stored.add(path)
            yield Unit(path, identity)
        # Of the others nothing is known, which is no reason to leave them out.
        for path in paths:
            if path not in stored:
                yield Unit(path, None)

    engine = engine_of(line.engine or "local", line.jobs or 1)
    run = open_run(directory, asked, now())
    with kept(run, directory), shown(line) as show:
        found = run_units(
            units(), run, engine, work, facts_of=lambda unit: facts.of(unit.display, unit.identity), show=show
        )
        run.finish(now())
    ctx.exit(told(run, found, line))
