"""Makes a finding from a hit of a rule: fills in templates, severity and fingerprint."""

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
    """Make the finding of one hit.

    Args:
        fields: values of template fields.
        identity: the module, and what distinguishes this finding from others of the rule in it (`model.fingerprint`).
        pattern: the matching pattern; its texts and severity override those of the rule.
        severity, confidence: override those of the pattern and the rule.
        fix_fields: template fields for the fix, if different.
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
