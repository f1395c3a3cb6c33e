"""Releases in fixes that are restricted to those on which a whole package loads."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.torch_ranges import restrict_releases

KNOWN = ("2.1.0", "2.1.2", "2.2.0", "2.7.1", "2.13.0")
PACKAGE = frozenset(("2.1.0", "2.1.2", "2.2.0", "2.7.1"))
OWN = 'Rebuild it\nor: pip install "torch>=2.1.0,<=2.1.2"'


@pytest.mark.parametrize(
    ("fix", "widen", "expected"),
    [
        # pip's own reading of the ranges: PEP 440.
        (OWN, False, OWN),
        (OWN, True, 'Rebuild it\nor: pip install "torch>=2.1.0,<=2.7.1"'),
        ('pip install "torch>=2.2"', False, 'pip install "torch>=2.2.0,<=2.7.1"'),
        ('Rebuild it\nor: pip install "torch==2.13.0"', False, "Rebuild it"),
    ],
)
def test_a_range_becomes_that_of_the_package(fix: str, widen: bool, expected: str) -> None:
    assert restrict_releases(fix, KNOWN, PACKAGE.__contains__, widen=widen) == expected
