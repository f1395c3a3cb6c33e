"""Makes a finding from a hit of a rule: fills in templates, severity and fingerprint."""

from __future__ import annotations

import re
from collections.abc import Mapping

from abiscan.model.finding import Finding
from abiscan.model.fingerprint import fingerprint
from abiscan.rules.rule import Pattern, Rule

_PLAIN_SYMBOL = r"[A-Za-z0-9_$.@]+"


def make_finding(
    rule: Rule, fields: Mapping[str, str], identity: tuple[str, ...], pattern: Pattern | None = None
) -> Finding:
    """Make the finding of one hit, with the severity and confidence of the rule, without symbols and locations.

    Args:
        fields: values of template fields.
        identity: the module, and what distinguishes this finding from others of the rule in it (`model.fingerprint`).
        pattern: the matching pattern; its texts and severity override those of the rule.
    """
    message, fix = rule.texts_for(pattern)
    return Finding(
        rule=rule.id,
        severity=(pattern and pattern.severity) or rule.severity,
        confidence=rule.confidence,
        symbol=None,
        message=message.format_map(fields),
        fix=fix.format_map(_pasteable(fields)),
        fingerprint=fingerprint(rule.id, *identity),
    )


def _pasteable(fields: Mapping[str, str]) -> Mapping[str, str]:
    """The fields for a fix. Users paste its commands, so a hostile symbol name becomes a placeholder."""
    symbol = fields.get("symbol")
    is_plain = symbol is None or re.fullmatch(_PLAIN_SYMBOL, symbol)
    return fields if is_plain else {**fields, "symbol": "SYMBOL"}
