"""`abiscan/data/rules.json`: the rules' TOML files, checked, as one file that a scan reads at once."""

from __future__ import annotations

from pathlib import Path

import msgspec

from abiscan.rules.rule import Rule
from abiscan.rules.validate import read_rule_file

CATALOGUE = Path(__file__).parents[1] / "abiscan" / "rules" / "catalogue"


def rules() -> list[Rule]:
    """Every rule as its file has it, sorted by id.

    Raises:
        InvalidRule: a file is wrong; the message names the file and the key.
    """
    return [read_rule_file(path) for path in sorted(CATALOGUE.glob("*.toml"))]


def render(_current: str) -> str:
    """One line a rule, so that a difference shows which rule changed."""
    return "[\n" + ",\n".join(msgspec.json.encode(rule).decode() for rule in rules()) + "\n]\n"
