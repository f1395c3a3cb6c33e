"""Report x policy x baseline -> verdict. Sees the values of `model` alone.

    policy = load_config(text, "pyproject.toml", rules)     # or Policy()
    known = read_baseline(text, "abiscan-baseline.json")    # or None
    report = apply(report, policy, known, today)            # sets suppressions, stale entries and the verdict

Nothing here reads the clock or the environment; `find_config` alone looks at files.
"""

from __future__ import annotations

from abiscan.gate.apply import apply
from abiscan.gate.baseline import Baseline, Entry, read_baseline, write_baseline
from abiscan.gate.config import find_config, load_config, parse_fail_on
from abiscan.gate.policy import Ignore, Policy
from abiscan.gate.requirements import GATE_RULES, parse_require_torch

__all__ = [
    "GATE_RULES",
    "Baseline",
    "Entry",
    "Ignore",
    "Policy",
    "apply",
    "find_config",
    "load_config",
    "parse_fail_on",
    "parse_require_torch",
    "read_baseline",
    "write_baseline",
]
