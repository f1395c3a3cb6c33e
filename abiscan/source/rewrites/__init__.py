"""Mechanical rewrites of what rules find in sources: each gives the same program, with what the rule means gone."""

from __future__ import annotations

from abiscan.source.rewrites.registry import REWRITES, STUB_RULE
from abiscan.source.rewrites.rewrite import LeftAsIs, Rewritten, rewrite_source, stubs_for

__all__ = ["REWRITES", "STUB_RULE", "LeftAsIs", "Rewritten", "rewrite_source", "stubs_for"]
