"""Severities and the names of a finding."""

from __future__ import annotations

import pytest

from abiscan.model.cause import Confidence
from abiscan.model.finding import Finding, Severity


def test_severities_are_ordered_as_the_command_line_has_them() -> None:
    # `--fail-on error|warning|note`: fails on this severity and higher ones.
    fails = {limit: {s for s in Severity if s.at_least(limit)} for limit in Severity}
    assert fails == {
        Severity.ERROR: {Severity.ERROR},
        Severity.WARNING: {Severity.ERROR, Severity.WARNING},
        Severity.NOTE: {Severity.ERROR, Severity.WARNING, Severity.NOTE},
    }
    assert not any(severity.at_least(None) for severity in Severity)
    assert sorted(Severity, key=lambda s: s.rank)[0] is Severity.ERROR


@pytest.mark.parametrize(
    ("symbol", "symbols", "names"),
    [(None, (), ()), ("a", (), ("a",)), (None, ("a", "b"), ("a", "b")), ("a", ("a", "b"), ("a", "b"))],
)
def test_the_names_of_a_finding(symbol: str | None, symbols: tuple[str, ...], names: tuple[str, ...]) -> None:
    finding = Finding("rule", Severity.ERROR, Confidence.HIGH, symbol, "message", "", "f", symbols)
    assert finding.all_symbols == names
