"""Exit statuses (CONTRACT): 0 pass, 1 the gate failed, 2 usage, 3 incomplete; 130 after Ctrl-C, as in shells."""

from __future__ import annotations

from typing import Final

PASS: Final = 0
FAIL: Final = 1
USAGE: Final = 2
INCOMPLETE: Final = 3
INTERRUPTED: Final = 130

# By verdict of the gate (`model.report.Verdict`).
STATUS: Final = {"pass": PASS, "fail": FAIL, "incomplete": INCOMPLETE}
