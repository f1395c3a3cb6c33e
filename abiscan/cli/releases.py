"""`abiscan releases`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from abiscan.cli.options import index_directory
from abiscan.cli.output import progress
from abiscan.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from abiscan.releases.build import Build


@click.command()
@click.argument("action", required=False, type=click.Choice(["add"]))
@click.argument("sources", nargs=-1, metavar="[VERSION|WHEEL|DIR]...")
@click.option("-f", "--format", "form", type=click.Choice(["text", "json"]), default="text")
@click.option("--machine", type=click.Choice(["x86_64", "aarch64"]), help="Architecture of a fetched wheel.")
def releases(action: str | None, sources: tuple[str, ...], form: str, machine: str | None) -> None:
    """List the torch builds that abiscan knows; `releases add` adds one to the user's own index."""
    from pathlib import Path

    from msgspec.structs import fields

    from abiscan.model.release import KnownBuild
    from abiscan.releases import open_index
    from abiscan.report import releases_text

    directory = Path(index_directory())
    if action is None:
        builds = [
            KnownBuild(**{f.name: getattr(build, f.name) for f in fields(KnownBuild)})
            for build in open_index(directory, earlier=True).builds()
        ]
        click.echo(releases_text.render(builds, as_json=form == "json"), nl=False)
        return
    if not sources:
        raise UsageError("abiscan releases add needs a version, a wheel or a directory")
    for source in sources:
        added, layouts = _add_release(source, directory, machine)
        click.echo(f"added {added.key} to {directory}; {layouts}")


def _add_release(source: str, directory: Path, machine: str | None) -> tuple[Build, str]:
    """The build, and what is known of its layouts."""
    import tempfile
    from pathlib import Path

    from abiscan.releases.add import add_build, download
    from abiscan.releases.user_layouts import add_layouts

    def add(source: Path) -> tuple[Build, str]:
        build = add_build(source, directory, show)
        show("reading its headers")
        return build, add_layouts(source, directory, build.torch, build.machine)

    bar = progress()
    show = (lambda line: None) if bar is None else bar.at
    path = Path(source)
    if path.exists():
        added = add(path)
    elif os.sep in source or source.endswith(".whl"):
        raise UsageError(f"{source}: no such wheel or directory")
    else:
        with tempfile.TemporaryDirectory(prefix="abiscan-") as folder:
            wheel = download(source, machine or os.uname().machine, Path(folder), quiet=progress() is None)
            added = add(wheel)
    show("")
    return added
