"""Shell completion of values that only abiscan knows. Nothing is imported before a shell requests it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


def _select_by_prefix(words: Iterable[str], incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(word) for word in words if word.startswith(incomplete)]


def _files(incomplete: str) -> list[CompletionItem]:
    from click.shell_completion import CompletionItem

    return [CompletionItem(incomplete, type="file")]


def formats(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    from abiscan.report import FORMATS

    return _select_by_prefix(FORMATS, incomplete)


def rules(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Rule ids after the last comma."""
    from abiscan.cli.every_rule import every_rule

    before, comma, last = incomplete.rpartition(",")
    return _select_by_prefix((f"{before}{comma}{each.id}" for each in every_rule()), f"{before}{comma}{last}")


def torches(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`installed`, `declared`, known releases (newest first) and paths."""
    from abiscan.cli.options import index_directory
    from abiscan.releases import open_index

    known = dict.fromkeys(build.torch for build in reversed(open_index(index_directory(), earlier=True).builds()))
    found = _select_by_prefix(("installed", "declared", *known), incomplete)
    return found or _files(incomplete)


def targets(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, and names of installed packages if a part of one is given."""
    from abiscan.cli.options import environment_of
    from abiscan.errors import AbiscanError
    from abiscan.inputs.packages import installed_names

    files = _files(incomplete)
    if not incomplete or "/" in incomplete:
        return files
    python = ctx.params.get("python")
    try:
        environment = environment_of(python if isinstance(python, str) else None)
    except AbiscanError:
        return files
    names = installed_names(environment.site_packages) if environment is not None else []
    return files + _select_by_prefix(names, incomplete)
