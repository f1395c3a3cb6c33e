"""Grades of releases: those without a layout change come before those on which one is possible."""

from __future__ import annotations

import pytest

from abiscan.model.compatibility import BuildOfTorch, compatible_releases
from abiscan.model.release import ReleaseState, best_releases, graded_ranges

LOADS, POSSIBLE, CHANGED, FAILS = (
    ReleaseState.LOADS,
    ReleaseState.POSSIBLE_LAYOUT,
    ReleaseState.OTHER_LAYOUT,
    ReleaseState.FAILS,
)


@pytest.mark.parametrize(
    ("states", "best", "text"),
    [
        ((LOADS, LOADS, POSSIBLE), {"2.4.0", "2.5.0"}, "2.4.0-2.5.0 (warning: possible layout change on 2.6.0)"),
        ((POSSIBLE, LOADS, CHANGED), {"2.5.0"}, "2.5.0 (warning: possible layout change on 2.4.0)"),
        ((CHANGED, POSSIBLE, FAILS), {"2.5.0"}, "2.5.0 (warning: possible layout change)"),
        ((CHANGED, FAILS, FAILS), set(), ""),
    ],
)
def test_a_release_that_may_have_another_layout_comes_second(
    states: tuple[ReleaseState, ...], best: set[str], text: str
) -> None:
    graded = tuple(zip(("2.4.0", "2.5.0", "2.6.0"), states, strict=True))
    assert best_releases(graded) == best
    assert graded_ranges(graded) == text


def test_one_build_of_a_release_is_enough() -> None:
    assert best_releases([("2.4.0", POSSIBLE), ("2.4.0", LOADS), ("2.5.0", POSSIBLE)]) == {"2.4.0"}
    assert graded_ranges([("2.4.0", POSSIBLE), ("2.4.0", LOADS)]) == "2.4.0"


def test_what_a_requirement_refuses_is_not_compatible() -> None:
    builds = [
        BuildOfTorch("2.4.0", "cpu", compatible=False, reason="not allowed by torch>=2.5", state=LOADS),
        BuildOfTorch("2.5.0", "cpu", compatible=True, reason="", state=POSSIBLE),
    ]
    assert compatible_releases(builds) == "2.5.0 (warning: possible layout change)"
    assert compatible_releases(builds[:1]) == "no known release"
