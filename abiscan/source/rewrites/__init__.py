"""Mechanical rewrites of what rules find in sources: each gives the same program, with what the rule means gone."""

from __future__ import annotations

from abiscan.source.rewrites.rewrite import LeftAsIs, Rewritten, rewrite_source, stubs_for
from abiscan.source.rewrites.rewrite_table import REWRITES, STUB_RULE

__all__ = ["REWRITES", "STUB_RULE", "LeftAsIs", "Rewritten", "rewrite_source", "stubs_for"]
