"""Makes a finding from a hit of a rule: fills in templates, severity and fingerprint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from abiscan.model.finding import Finding, Location, Severity
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


# Maximum number of locations in one finding. A file with many templates calls `data_ptr<float>()` hundreds of times.
MAX_LOCATIONS = 20


def symbols_to_locate(rules: Iterable[Rule], findings: Iterable[Finding]) -> frozenset[str]:
    """The imports of findings that need call sites. Notes need none: good files have some, and searching their code
    takes longer than the rest of the scan."""
    located = {rule.id for rule in rules if rule.locate}
    return frozenset(
        symbol
        for finding in findings
        if finding.rule in located and finding.severity is not Severity.NOTE
        for symbol in finding.all_symbols
    )


def attach_locations(findings: Iterable[Finding], places: Mapping[str, tuple[Location, ...]]) -> tuple[Finding, ...]:
    """The findings with the locations of their symbols.

    Args:
        places: mangled name -> locations, from `Binary.call_sites` or from sources, in a stable order.
    """
    result = []
    for finding in findings:
        new = [place for symbol in finding.all_symbols for place in places.get(symbol, ())]
        if new:
            merged = tuple(dict.fromkeys((*finding.locations, *new)))[:MAX_LOCATIONS]
            finding = replace(finding, locations=merged)  # noqa: PLW2901 - the finding, with more in it
        result.append(finding)
    return tuple(result)
