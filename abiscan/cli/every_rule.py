"""Every rule that a report may name: those of the catalogue and the gate's own."""

from __future__ import annotations

from abiscan.gate.requirements import GATE_RULES
from abiscan.model.finding import RuleInfo
from abiscan.rules import rule_infos


def every_rule() -> tuple[RuleInfo, ...]:
    """Sorted by id."""
    return tuple(sorted((*rule_infos(), *GATE_RULES), key=lambda info: info.id))
