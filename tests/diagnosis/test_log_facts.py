"""Torch and Python versions in a log. The lines are output of collect_env, pip, conda and prompts."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from abiscan.diagnosis.text.find_log_facts import log_facts
from abiscan.diagnosis.text.message_paths import paths_in


def _rows() -> list[dict[str, Any]]:
    path = Path(__file__).parent / "data" / "log_facts.toml"
    return [row for table in tomllib.loads(path.read_text(encoding="utf-8")).values() for row in table]


@pytest.mark.parametrize("row", _rows(), ids=lambda row: row["text"][:60])
def test_facts(row: dict[str, Any]) -> None:
    """The facts of a row; `unknown` stands for none."""
    facts = log_facts(row["text"])
    python = None if facts.python is None else ".".join(map(str, facts.python))
    found = {name: python if name == "python" else getattr(facts, name) for name in row if name != "text"}
    assert found == {name: None if value == "unknown" else value for name, value in row.items() if name != "text"}


def test_paths() -> None:
    text = "ImportError: /a/site-packages/x/_C.so: undefined symbol: f\nsee https://example.org/b.so and ./c.so"
    assert paths_in(text) == ("/a/site-packages/x/_C.so",)
