"""Mechanical rewrites of findings in sources. A rewrite does not change the results of the program."""

from __future__ import annotations

from abiscan.source.rewrites.rewrite import (
    REWRITES,
    STUB_RULE,
    RequestedFunction,
    Rewritten,
    UnchangedPlace,
    rewrite_source,
    stubs_for,
)

__all__ = ["REWRITES", "STUB_RULE", "RequestedFunction", "Rewritten", "UnchangedPlace", "rewrite_source", "stubs_for"]
