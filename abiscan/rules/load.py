"""The rules of this release, from the table that `tools/compile_rules.py` makes of the TOML files.

Reading 20 TOML files takes longer than scanning one shared object, and every scan loads all rules.
"""

from __future__ import annotations

from functools import cache

from abiscan.errors import AbiscanError
from abiscan.model.finding import RuleInfo
from abiscan.rules.compiled import RULES
from abiscan.rules.schema import Rule
from abiscan.rules.validate import rule_from


@cache
def load_rules() -> tuple[Rule, ...]:
    """Every rule, sorted by id."""
    return tuple(rule_from(identifier, table, f"{identifier}.toml") for identifier, table in RULES.items())


@cache
def rule_infos() -> tuple[RuleInfo, ...]:
    """What reports describe rules by, sorted by id."""
    return tuple(rule.info() for rule in load_rules())


def rule(identifier: str) -> Rule:
    """One rule.

    Raises:
        AbiscanError: there is none of this id; the message lists those that are known.
    """
    for each in load_rules():
        if each.id == identifier:
            return each
    raise AbiscanError(f"no rule {identifier!r}; known: {', '.join(each.id for each in load_rules())}")
