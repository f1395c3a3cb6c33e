"""Versions and windows. The order is that of PEP 440."""

from __future__ import annotations

import itertools

import pytest
from packaging.version import Version

from abiscan.model import versions

WINDOWS = (("2.1.0", "2.2.2"), ("2.12.0", "2.15.0"))


def test_order_is_that_of_packaging() -> None:
    known = ["1.13.1", "2.2.0.dev20240101", "2.2.0a0", "2.2.0b1", "2.2.0rc2", "2.2.0", "2.2.1", "2.10.0", "2.9.1"]
    for a, b in itertools.combinations(known, 2):
        first, second = versions.order(a), versions.order(b)
        assert first is not None
        assert second is not None
        assert (first < second) == (Version(a) < Version(b)), (a, b)


@pytest.mark.parametrize("text", ["", "unknown", "2", "x.y"])
def test_what_is_no_version(text: str) -> None:
    assert versions.order(text) is None
    assert versions.contains(WINDOWS, text) is None
    assert not versions.all_after(WINDOWS, text)


@pytest.mark.parametrize(
    ("version", "inside", "last_before", "first_after"),
    [
        ("2.0.1", False, None, "2.1.0"),
        ("2.2.1", True, None, "2.12.0"),
        ("2.6.0", False, "2.2.2", "2.12.0"),
        ("2.12.0a0", False, "2.2.2", "2.12.0"),
        ("2.16.0", False, "2.15.0", None),
    ],
)
def test_where_a_version_lies(version: str, inside: bool, last_before: str | None, first_after: str | None) -> None:
    assert versions.contains(WINDOWS, version) is inside
    assert versions.last_before(WINDOWS, version) == last_before
    assert versions.first_after(WINDOWS, version) == first_after


def test_text() -> None:
    assert versions.text(WINDOWS) == "2.1.0 - 2.2.2 and 2.12.0 - 2.15.0"
    assert versions.text((("2.10.0", "2.10.0"),)) == "2.10.0"
