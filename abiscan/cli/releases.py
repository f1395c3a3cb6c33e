"""`abiscan releases`."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from abiscan.cli.command_line import CommandLine
from abiscan.cli.options import index_directory
from abiscan.cli.output import outputs_of, progress, write_outputs
from abiscan.cli.parameters import CommandGroup, select_options
from abiscan.errors import UsageError
from abiscan.model.platforms import other_platforms, own_key
from abiscan.report.markdown_table import aligned

if TYPE_CHECKING:
    from pathlib import Path

    from abiscan.releases.build import Build


# The fields of a build in JSON, in order.
_FIELDS = (
    *("key", "torch", "variant", "machine", "cuda", "hip", "cxx11_abi", "git_revision", "wheel", "sha256", "user"),
)


class _Releases(CommandGroup):
    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        listed = not args or (args[0].startswith("-") and args[0] not in ("-h", "--help"))
        return super().parse_args(ctx, ["list", *args] if listed else args)


@click.group(cls=_Releases, no_args_is_help=False)
def releases() -> None:
    """List the known torch releases, or add one."""


@releases.command("list", params=select_options(format="text, json; repeatable."))
def list_releases(**given: Any) -> None:
    """List the torch builds in the release index (the default command)."""
    from pathlib import Path

    from abiscan.releases import open_index

    line = CommandLine(**given)
    outputs = outputs_of(line.format, ("text", "json"))
    known = open_index(Path(index_directory()), earlier=True).for_every_system().builds()
    builds = [{field: getattr(build, field) for field in _FIELDS} for build in known]
    write_outputs(outputs, line, lambda form, _style: _render(builds, as_json=form == "json"))


def _render(builds: Sequence[Mapping[str, Any]], *, as_json: bool) -> str:
    """One line per build: version, variant, architecture, std::string ABI, GPU toolkit, index and revision.

    Args:
        builds: the `_FIELDS` of each.
    """
    if as_json:
        import json

        return json.dumps(builds, indent=2, ensure_ascii=False) + "\n"
    rows = [("torch", "variant", "machine", "std::string", "CUDA/ROCm", "index", "revision")]
    strings = {True: "new", False: "old", None: "-"}
    for build in builds:
        gpu = f"CUDA {build['cuda']}" if build["cuda"] else f"ROCm {build['hip']}" if build["hip"] else "-"
        index, revision = "user" if build["user"] else "shipped", (build["git_revision"] or "-")[:12]
        string = strings[build["cxx11_abi"]]
        rows.append((build["torch"], build["variant"], build["machine"], string, gpu, index, revision))
    return "".join(f"{line}\n" for line in aligned(rows))


@releases.command()
@click.argument("sources", nargs=-1, required=True, metavar="VERSION|WHEEL|DIR...")
@click.option(
    "--machine",
    type=click.Choice(["x86_64", "aarch64", *(each.key for each in other_platforms())]),
    metavar="PLATFORM",
    help="Platform of a fetched wheel: x86_64, aarch64, win_amd64, macosx_arm64, ...",
)
def add(sources: tuple[str, ...], machine: str | None) -> None:
    """Add torch builds to your own release index."""
    from pathlib import Path

    directory = Path(index_directory())
    for source in sources:
        added, layouts = _add_release(source, directory, machine)
        click.echo(f"added {added.key} to {directory}; {layouts}")


def _add_release(source: str, directory: Path, machine: str | None) -> tuple[Build, str]:
    """The added build, and a note on its layouts."""
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
            wheel = download(source, machine or own_key(), Path(folder), quiet=progress() is None)
            added = add(wheel)
    show("")
    return added
