"""A hit of a rule, and what a report needs to know of the rule (made by `rules` and `source`)."""

from __future__ import annotations

import enum

from msgspec import Struct

from abiscan.model.cause import Confidence
from abiscan.model.versions import ReleaseRanges


class Severity(enum.StrEnum):
    """How bad a finding is, worst first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the worst. Compare ranks: members are texts, and `<` on them is the order of the alphabet."""
        return _RANKS[self]

    def at_least(self, other: Severity | None) -> bool:
        """Whether it is as bad as `other` or worse; nothing is as bad as None."""
        return other is not None and self.rank <= other.rank


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


class Location(Struct, frozen=True):
    """Where a finding stands: a function of the binary (demangled), a source line, or a file offset in bytes."""

    function: str | None = None
    file: str | None = None
    line: int | None = None
    offset: int | None = None


DOES_NOT_LOAD = "does-not-load"
"""The rule of a file that fails although no other rule says so as an error."""
EXPLAINED_BY_CAUSES = frozenset({"missing-import", "unreachable-import", "missing-library"})
"""The rules that report of each import what the causes of the file explain."""


class Finding(Struct, frozen=True):
    """A hit of one rule.

    Attributes:
        rule: the rule's id.
        symbol: the mangled name it is about, if it is about one.
        symbols: all mangled names, where one finding speaks for several (a missing library).
        fingerprint: survives rebuilds, moved offsets and another checkout path.
        suppressed: accepted by a baseline or an ignore; it stays in the report.
        suppression: why, where `suppressed`.
        in_baseline: suppressed by a baseline and not by an ignore.
    """

    rule: str
    severity: Severity
    confidence: Confidence
    symbol: str | None
    message: str
    fix: str
    fingerprint: str
    symbols: tuple[str, ...] = ()
    locations: tuple[Location, ...] = ()
    suppressed: bool = False
    suppression: str | None = None
    in_baseline: bool = False

    @property
    def all_symbols(self) -> tuple[str, ...]:
        """Every mangled name it is about, be it one or several."""
        return self.symbols or ((self.symbol,) if self.symbol is not None else ())


class RuleInfo(Struct, frozen=True):
    """What a report needs to know of a rule to describe it (SARIF, HTML, docs)."""

    id: str
    summary: str
    why: str
    example: str
    use_instead: str
    references: tuple[str, ...]
    since: str
    severity: Severity
    confidence: Confidence


class WhatIf(Struct, frozen=True):
    """The releases that a file would be compatible with if the calls that a rule advises against were rewritten."""

    rule: str
    symbols: tuple[str, ...]
    compatible_with: ReleaseRanges
    assumes: str
