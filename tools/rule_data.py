"""Generates `abiscan/data/rules.json`: the checked TOML files of rules, as one file for a scan."""

from __future__ import annotations

from pathlib import Path

import msgspec

from abiscan.rules.rule import Rule
from tools.read_rule_file import read_rule_file

CATALOGUE = Path(__file__).parents[1] / "abiscan" / "rules" / "catalogue"


def rules() -> list[Rule]:
    """Every rule, sorted by id.

    Raises:
        InvalidRule: a file is invalid; the message names the file and the key.
    """
    return [read_rule_file(path) for path in sorted(CATALOGUE.glob("*.toml"))]


def render(_current: str) -> str:
    """One line per rule, for readable diffs."""
    return "[\n" + ",\n".join(msgspec.json.encode(rule).decode() for rule in rules()) + "\n]\n"
