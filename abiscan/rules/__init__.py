"""The rules, one TOML file each, and the engine that matches them.

`load_rules()` and `run(rules, subject)` are the interface. `attach_locations` adds the call sites in the binary."""

from __future__ import annotations

from abiscan.rules.engine import run
from abiscan.rules.load import load_rules, rule, rule_infos
from abiscan.rules.make_finding import attach_locations, symbols_to_locate
from abiscan.rules.rule import Rule
from abiscan.rules.rule_subject import RuleSubject

__all__ = ["Rule", "RuleSubject", "attach_locations", "load_rules", "rule", "rule_infos", "run", "symbols_to_locate"]
