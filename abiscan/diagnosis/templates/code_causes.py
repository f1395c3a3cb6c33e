"""Causes that code finds. Their sentences and commands are rows of `catalogue/code_causes.toml`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from abiscan.data import read_table

if TYPE_CHECKING:
    from abiscan.diagnosis.catalogue.cause_row import CodeCauses
    from abiscan.diagnosis.missing_name import MissingName
    from abiscan.diagnosis.ranking import Candidates


@cache
def _stored_rows() -> dict[str, msgspec.Raw]:
    """Rows by id, decoded on use: a file needs few."""
    return read_table("code_causes.json.gz", dict[str, msgspec.Raw])


@cache
def _row(row: str) -> CodeCauses:
    from abiscan.diagnosis.catalogue.cause_row import CodeCauses

    return msgspec.json.decode(_stored_rows()[row], type=CodeCauses)


def row_causes(
    row: str,
    missing: MissingName,
    *,
    evidence: Iterable[str] = (),
    score: float | None = None,
    form: str = "",
    commands: Mapping[str, str] | None = None,
    **values: str | bool,
) -> Candidates:
    """The causes of a row with conditions that hold.

    Args:
        row: its id.
        evidence: sentences before those of the row.
        score: in place of that of the row.
        form: the same.
        commands: values that are safe in a command.
        values: further values for its places, and whether conditions hold; an empty one is absent.
    """
    # Late: most scans have no such cause.
    from abiscan.diagnosis.templates.name_facts import NAME_FACTS
    from abiscan.diagnosis.templates.templates import PlaceValues, fill_causes

    texts = {name: "yes" if value is True else value or "" for name, value in values.items()}
    given = PlaceValues(texts, missing, NAME_FACTS, commands)
    for candidate in fill_causes(_row(row).cause, given):
        yield msgspec.structs.replace(
            candidate,
            evidence=(*evidence, *candidate.evidence),
            score=candidate.score if score is None else score,
            form=form or candidate.form,
        )
