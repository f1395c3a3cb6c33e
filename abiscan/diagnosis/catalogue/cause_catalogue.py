"""The causes, from `abiscan/data/causes.json.gz`, which `tools/generate.py` generates from `catalogue/causes/ID.toml`.
A scan reads it only if something is unresolved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from abiscan.data import read_table
from abiscan.model.cause import CauseId
from abiscan.model.cause_page import CausePage
from abiscan.model.target import TorchBuild


@cache
def load_causes() -> Mapping[CauseId, CausePage]:
    """The page of every cause, in the order of `CauseId`."""
    pages = read_table("causes.json.gz", tuple[CausePage, ...])
    return {page.id: page for page in pages}


def cause_pages(causes: Iterable[CauseId]) -> tuple[CausePage, ...]:
    """The pages of some causes, without duplicates, in the order of `CauseId`."""
    wanted = set(causes)
    return tuple(page for page in load_causes().values() if page.id in wanted) if wanted else ()


OTHER_LIBRARY: Final = "other-library"
"""The form of a cause for a symbol of none of torch's libraries."""


def title(cause: CauseId, target: TorchBuild | None = None, form: str = "") -> str:
    """The problem as a sentence, with the target; for a form of the cause with a title of its own."""
    variant = f" ({target.variant})" if target is not None and target.variant else ""
    torch = None if target is None else f"torch {target.version}{variant}"
    return load_causes()[cause].title_for(torch, form)
