"""Findings of rules, and descriptions of rules for reports (made by `rules` and `source`)."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
import enum

from msgspec import Struct

from abiscan.model.cause import Confidence
from abiscan.model.versions import ReleaseRanges


class Severity(enum.StrEnum):
    """Severity of a finding, the most severe first."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"

    @property
    def rank(self) -> int:
        """0 for the most severe. Compare ranks: members are strings, which `<` compares alphabetically."""
        return _RANKS[self]

    def at_least(self, other: "Severity | None") -> bool:
        """Whether it is at least as severe as `other`; False for None."""
        return other is not None and self.rank <= other.rank


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}


class Location(Struct, frozen=True):
    """Location of a finding: a function of the binary (demangled), a source line, or a file offset in bytes."""

    function: str | None = None
    file: str | None = None
    line: int | None = None
    offset: int | None = None


DOES_NOT_LOAD = "does-not-load"
"""Rule for a file that fails without an error of another rule."""
EXPLAINED_BY_CAUSES = frozenset({"missing-import", "unreachable-import", "missing-library"})
"""Rules that report for each import what the causes of the file explain."""


LEFT_OUT = {option: f"ignored: {words}" for option, words in (("ignore", "--ignore"), ("select", "not in --select"))}
"""Reasons why a finding does not count: options that leave out its rule."""


class Finding(Struct, frozen=True):
    """One result of a rule.

    Attributes:
        rule: id of the rule.
        symbol: mangled name of the symbol concerned, if there is one.
        symbols: mangled names, if the finding concerns several (a missing library).
        fingerprint: stable across rebuilds, moved offsets and checkout paths.
        suppressed: whether a baseline or an ignore accepts it, or its rule is left out; it stays in the report.
        suppression: the reason, if `suppressed`.
        in_baseline: whether a baseline accepts it, and no ignore.
        in_source: whether a comment beside the code accepts it.
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
    in_source: bool = False

    @property
    def all_symbols(self) -> tuple[str, ...]:
        """All mangled names concerned."""
        return self.symbols or ((self.symbol,) if self.symbol is not None else ())

    @property
    def is_left_out(self) -> bool:
        """Whether --select or --ignore leaves out its rule."""
        return self.suppressed and self.suppression in LEFT_OUT.values()


class RuleInfo(Struct, frozen=True):
    """Description of a rule for reports (SARIF, HTML, docs)."""

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
    """The releases with which a file would be compatible after the rewrites that a rule advises."""

    rule: str
    symbols: tuple[str, ...]
    compatible_with: ReleaseRanges
    assumes: str
