"""Adds locations to findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from abiscan.model.finding import Finding, Location, Severity
from abiscan.rules.rule import Rule

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
