"""All forms of text for `explain`: `data/texts.toml` has the expected answer of each, and its reason. Nothing is known
of the texts of `data/other_texts.toml`, which are not about loading a torch extension."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.releases import ReleaseIndex
from tests.diagnosis.explained import explain
from tests.diagnosis.reported import DATA, explain_text

TEXTS = tomllib.loads((DATA / "texts.toml").read_text(encoding="utf-8"))["text"]


@pytest.mark.parametrize("row", TEXTS.values(), ids=TEXTS)
def test_the_symbol_and_the_cause(row: dict[str, str], index: ReleaseIndex) -> None:
    subjects = explain_text(row["text"], index)
    subject = next((s for s in subjects if row["symbol"] in (s.mangled, s.text)), None)
    assert subject is not None, [s.text for s in subjects]
    given = [str(cause.cause) for cause in subject.causes]
    assert given[0] == row["cause"], given
    assert row.get("also", given[0]) in given


def test_there_are_texts_of_every_kind() -> None:
    assert len(TEXTS) >= 60
    assert sum(not row["text"].isascii() for row in TEXTS.values()) >= 8


_TEXTS = tomllib.loads(Path(__file__).with_name("data").joinpath("other_texts.toml").read_text(encoding="utf-8"))


def test_the_end_of_a_failed_build_tells_less_than_any_other_message(nothing: Knowledge) -> None:
    lines = ("error: subprocess-exited-with-error", "No module named 'torch'", "ERROR: Failed building wheel for a")
    assert [subject.message for subject in explain("\n".join(lines), nothing)] == ["no-torch-module"]


@pytest.mark.parametrize("text", _TEXTS["nothing_known"])
def test_nothing_is_known_of_it(text: str, nothing: Knowledge) -> None:
    assert explain(text, nothing) == ()
