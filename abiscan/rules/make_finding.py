"""A hit of a rule to a finding: its templates filled in, its severity and its fingerprint."""

from __future__ import annotations

from collections.abc import Mapping

from abiscan.model.cause import Confidence
from abiscan.model.finding import Finding, Location, Severity
from abiscan.model.fingerprint import fingerprint
from abiscan.rules.rule import Pattern, Rule


def make_finding(
    rule: Rule,
    fields: Mapping[str, str],
    identity: tuple[str, ...],
    *,
    pattern: Pattern | None = None,
    severity: Severity | None = None,
    confidence: Confidence | None = None,
    fix_fields: Mapping[str, str] | None = None,
    symbol: str | None = None,
    symbols: tuple[str, ...] = (),
    locations: tuple[Location, ...] = (),
) -> Finding:
    """The finding of one hit.

    Args:
        fields: what the templates may name.
        identity: the module, and what tells this finding from the rule's others in it (`model.fingerprint`).
        pattern: the one that was hit, whose texts and severity come before the rule's.
        severity, confidence: where they are not those of the pattern and the rule.
        fix_fields: other fields for the fix.
    """
    message, fix = rule.texts_for(pattern)
    return Finding(
        rule=rule.id,
        severity=severity or (pattern and pattern.severity) or rule.severity,
        confidence=confidence or rule.confidence,
        symbol=symbol,
        message=message.format_map(fields),
        fix=fix.format_map(fields if fix_fields is None else fix_fields),
        fingerprint=fingerprint(rule.id, *identity),
        symbols=symbols,
        locations=locations,
    )
