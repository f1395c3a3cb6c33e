"""The rules of this version, from `abiscan/data/rules.json`, which `tools/generate.py` generates from the TOML files.
Reading 33 TOML files takes longer than scanning one shared object, and every scan loads all rules."""

from __future__ import annotations

from functools import cache

from abiscan.data import read_table
from abiscan.errors import AbiscanError
from abiscan.model.finding import RuleInfo
from abiscan.rules.rule import Rule


@cache
def load_rules() -> tuple[Rule, ...]:
    """Every rule, sorted by id."""
    return read_table("rules.json", tuple[Rule, ...])


@cache
def rule_infos() -> tuple[RuleInfo, ...]:
    """Descriptions of rules for reports, sorted by id."""
    return tuple(RuleInfo(*(getattr(rule, name) for name in RuleInfo.__struct_fields__)) for rule in load_rules())


def rule(identifier: str) -> Rule:
    """One rule.

    Raises:
        AbiscanError: unknown id; the message lists the known ones.
    """
    for each in load_rules():
        if each.id == identifier:
            return each
    raise AbiscanError(f"no rule {identifier!r}; known: {', '.join(each.id for each in load_rules())}")
