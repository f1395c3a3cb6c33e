"""Exit statuses (CONTRACT): 0 pass, 1 the gate failed, 2 usage, 3 incomplete; 130 after Ctrl-C, as shells have it."""

from __future__ import annotations

from typing import Final

PASS: Final = 0
FAIL: Final = 1
USAGE: Final = 2
INCOMPLETE: Final = 3
INTERRUPTED: Final = 130

# By the gate's verdict (`model.report.Verdict`).
STATUS: Final = {"pass": PASS, "fail": FAIL, "incomplete": INCOMPLETE}
