"""Every rule that a report may contain: the catalogue and the rules of the gate."""

from __future__ import annotations

from abiscan.gate.requirements import GATE_RULES
from abiscan.model.finding import RuleInfo
from abiscan.rules import load_rules, rule_infos


def every_rule() -> tuple[RuleInfo, ...]:
    """All rules, sorted by id."""
    return tuple(sorted((*rule_infos(), *GATE_RULES), key=lambda info: info.id))


def severities() -> dict[str, str]:
    """Every severity of a rule's findings, in words, for the rules of the catalogue."""
    return {rule.id: rule.severities() for rule in load_rules()}
