"""Versions and ranges. The order is that of PEP 440, as packaging reads it."""

from __future__ import annotations

import itertools
import pickle

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from abiscan.model import versions
from abiscan.model.versions import ReleaseRanges
from tests.tables import table_rows

RANGES = ReleaseRanges((("2.1.0", "2.2.2"), ("2.12.0", "2.15.0")))
KNOWN = ["2.0.1", "2.1.0", "2.1.2", "2.2.0", "2.2.2", "2.3.0", "2.12.0", "2.15.0"]


def test_order_is_that_of_packaging() -> None:
    known = [
        *("1.13.1", "2.2.0.dev20240101", "2.2.0a0", "2.2.0b1", "2.2.0rc2", "2.2.0", "2.2.0.post1"),
        *("2.2.0.post2", "2.2.1"),
        *("2", "2.2", "v2.2.1", "2.10.0", "2.9.1"),
    ]
    for a, b in itertools.combinations(known, 2):
        first, second = versions.order(a), versions.order(b)
        assert first is not None
        assert second is not None
        assert (first < second, first == second) == (Version(a) < Version(b), Version(a) == Version(b)), (a, b)


@pytest.mark.parametrize("text", ["", "unknown", "x.y", "+cu124"])
def test_invalid_versions(text: str) -> None:
    assert versions.order(text) is None
    assert not versions.is_version(text)
    assert RANGES.contains(text) is None
    assert not RANGES.all_after(text)
    assert not RANGES.all_before(text)


def test_a_local_label_is_part_of_no_order() -> None:
    for text in ("2.2.0a0+81ea7a4", "2.6.0+cu124", "2.6.0+cxx11.abi", "2.7.0.dev20250105+git0123abc"):
        assert versions.is_version(text)
        assert versions.order(text) == versions.order(Version(text).public)


@pytest.mark.parametrize("text", ["2.6.0+", "2.6.0 cpu", "2.6.0/..", ">=2.6", "2.6.0+a b"])
def test_a_version_with_other_text_is_invalid(text: str) -> None:
    assert not versions.is_version(text)


@pytest.mark.parametrize("text", ["2.6.0", "2.6", "2.1.0.post1", "2.6.0+cu124", "2.2.0a0", "2.2.0.dev1", "2.2.0rc1"])
def test_is_release(text: str) -> None:
    assert versions.is_release(text) is not Version(text).is_prerelease


@table_rows
def test_where_a_version_lies(version: str, inside: bool, last_before: str | None, first_after: str | None) -> None:
    assert RANGES.contains(version) is inside
    assert RANGES.last_before(version) == last_before
    assert RANGES.first_after(version) == first_after
    assert RANGES.all_after(version) is (version == "2.0.1")
    assert RANGES.all_before(version) is (version == "2.16.0")


def test_runs_of_known_versions() -> None:
    assert ReleaseRanges.of_known(KNOWN, lambda v: bool(RANGES.contains(v))) == RANGES
    assert ReleaseRanges.of_known(KNOWN, {"2.0.1", "2.15.0"}.__contains__) == (("2.0.1", "2.0.1"), ("2.15.0", "2.15.0"))
    assert ReleaseRanges.of_known(KNOWN, lambda _version: False) == ()


def test_the_intersection_has_what_both_have() -> None:
    others = ReleaseRanges((("2.0.1", "2.1.2"), ("2.2.2", "2.12.0")))
    both = RANGES.intersect(others)
    assert both == (("2.1.0", "2.1.2"), ("2.2.2", "2.2.2"), ("2.12.0", "2.12.0"))
    for version in KNOWN:
        assert both.contains(version) is (RANGES.contains(version) and others.contains(version))
    assert RANGES.intersect(ReleaseRanges((("2.3.0", "2.11.0"),))) == ()


def test_text() -> None:
    assert ReleaseRanges().text() == ""
    assert ReleaseRanges((("2.10.0", "2.10.0"),)).text() == "2.10.0"
    assert RANGES.text() == "2.1.0-2.2.2 and 2.12.0-2.15.0"
    three = ReleaseRanges((("1.13.0", "1.13.1"), *RANGES))
    assert three.text() == "1.13.0-1.13.1, 2.1.0-2.2.2 and 2.12.0-2.15.0"
    assert three.text(last=", ") == "1.13.0-1.13.1, 2.1.0-2.2.2, 2.12.0-2.15.0"


@table_rows
def test_a_requirement_allows_the_newest_range_alone(ranges: tuple[tuple[str, str], ...], requirement: str) -> None:
    assert ReleaseRanges(ranges).requirement(KNOWN) == requirement
    allowed = SpecifierSet(requirement.removeprefix("torch"))
    newest = ReleaseRanges(ranges[-1:])
    assert [v for v in KNOWN if v in allowed] == [v for v in KNOWN if newest.contains(v)]


def test_ranges_are_the_tuple_of_their_spans() -> None:
    assert pickle.loads(pickle.dumps(RANGES)) == RANGES
    assert isinstance(pickle.loads(pickle.dumps(RANGES)), ReleaseRanges)
    assert RANGES == (("2.1.0", "2.2.2"), ("2.12.0", "2.15.0"))
    assert hash(RANGES) == hash(tuple(RANGES))
