"""What several things all work on, and which of them alone excludes something."""

from __future__ import annotations

from abiscan.compare import together_of
from abiscan.model.reach import Aspect, Compared, Reach
from abiscan.model.together import Together
from tests.compare.typed import builds, floor, reach


def _together(reaches: list[Reach]) -> Together:
    targets = tuple(Compared(f"{n}.whl", f"p{n}", "1", 1, each) for n, each in enumerate(reaches))
    return together_of.together_of_targets(targets)


def test_the_common_releases_and_who_excludes_one() -> None:
    found = _together(
        [
            reach(builds(v2_4="", v2_5="", v2_6="names removed or changed")),
            reach(builds(v2_4="names came later", v2_5="", v2_6="")),
            reach(),
        ]
    )
    assert found.common.torch is not None
    assert [b.torch for b in found.common.torch if b.works] == ["2.5.0"]
    assert [(e.target, e.excluded) for e in found.exclusions] == [
        ("0.whl", ("2.6.0+cu121",)),
        ("1.whl", ("2.4.0+cu121",)),
    ]
    assert found.conflicts == ()


def test_what_two_exclude_is_told_of_neither_alone() -> None:
    later = reach(builds(v2_4="x", v2_5=""))
    found = _together([later, later, reach(builds(v2_4="", v2_5=""))])
    assert found.exclusions == ()


def test_nothing_in_common_is_a_conflict() -> None:
    found = _together([reach(builds(v2_4="", v2_5="x"), ("3.10",)), reach(builds(v2_4="x", v2_5=""), ("3.11",))])
    assert found.conflicts == (Aspect.TORCH, Aspect.PYTHON)


def test_machines_that_differ_are_a_conflict() -> None:
    assert _together([reach(), reach(machines=("aarch64",))]).conflicts == (Aspect.SYSTEM,)


def test_the_highest_floor_counts_with_who_asks_for_it() -> None:
    found = _together(
        [reach(None, None, None, floor("glibc", 2, 9)), reach(None, None, None, floor("glibc", 2, 17)), reach()]
    )
    (highest,) = found.common.floors
    assert (highest.text, highest.because) == ("glibc 2.17", "p1 1: who asks")


def test_what_binds_nothing_binds_nothing_together() -> None:
    found = _together([reach(), reach()])
    assert (found.common.torch, found.common.pythons, found.common.gpus, found.conflicts) == (None, None, None, ())
