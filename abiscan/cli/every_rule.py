"""Every rule that a report may contain: the catalogue and the rules of the gate."""

from __future__ import annotations

from abiscan.gate.requirements import GATE_RULES
from abiscan.model.finding import RuleInfo
from abiscan.rules import rule_infos


def every_rule() -> tuple[RuleInfo, ...]:
    """All rules, sorted by id."""
    return tuple(sorted((*rule_infos(), *GATE_RULES), key=lambda info: info.id))
