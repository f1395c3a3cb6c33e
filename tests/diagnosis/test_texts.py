"""All forms of text for `explain`: `data/texts.toml` has the expected answer of each, and its reason."""

from __future__ import annotations

import tomllib

import pytest

from abiscan.diagnosis import explain
from abiscan.releases import ReleaseIndex
from tests.diagnosis.reported import DATA, knowledge_of_text

TEXTS = tomllib.loads((DATA / "texts.toml").read_text(encoding="utf-8"))["text"]


@pytest.mark.parametrize("row", TEXTS, ids=[row["form"] for row in TEXTS])
def test_the_symbol_and_the_cause(row: dict[str, str], index: ReleaseIndex) -> None:
    subjects = explain(row["text"], knowledge_of_text(row["text"], index))
    subject = next((s for s in subjects if row["symbol"] in (s.mangled, s.text)), None)
    assert subject is not None, [s.text for s in subjects]
    given = [str(cause.cause) for cause in subject.causes]
    assert given[0] == row["cause"], given
    assert row.get("also", given[0]) in given


def test_there_are_texts_of_every_kind() -> None:
    assert len(TEXTS) >= 60
    assert len({row["form"] for row in TEXTS}) == len(TEXTS)
    assert sum(not row["text"].isascii() for row in TEXTS) >= 8
