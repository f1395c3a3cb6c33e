"""Texts that are not about loading a torch extension: the result is "not known", or a correct answer
(`data/other_texts.toml`)."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from abiscan.diagnosis import Knowledge, explain

_TEXTS = tomllib.loads(Path(__file__).with_name("data").joinpath("other_texts.toml").read_text(encoding="utf-8"))


def test_the_end_of_a_failed_build_tells_less_than_any_other_message(nothing: Knowledge) -> None:
    lines = ("error: subprocess-exited-with-error", "No module named 'torch'", "ERROR: Failed building wheel for a")
    assert [subject.message for subject in explain("\n".join(lines), nothing)] == ["no-torch-module"]


@pytest.mark.parametrize("text", _TEXTS["nothing_known"])
def test_nothing_is_known_of_it(text: str, nothing: Knowledge) -> None:
    assert explain(text, nothing) == ()
