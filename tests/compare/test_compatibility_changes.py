"""A regression is everything that only the old compatibility contains."""

from __future__ import annotations

import pytest

from abiscan.compare.compatibility_changes import compare_compatibility
from abiscan.model.compatibility import Aspect, BuildOfTorch, Compatibility
from abiscan.model.diff_report import Effect
from tests.compare.typed import builds, floor, reach

CASES: dict[str, tuple[Compatibility, Compatibility, list[tuple[Aspect, Effect, bool]]]] = {
    "the same": (reach(builds(v2_4="")), reach(builds(v2_4="")), []),
    "a release less": (
        reach(builds(v2_4="", v2_5="")),
        reach(builds(v2_4="symbols added later", v2_5="")),
        [(Aspect.TORCH, Effect.LOST, True)],
    ),
    "a release more": (
        reach(builds(v2_4="", v2_5="old string ABI")),
        reach(builds(v2_4="", v2_5="")),
        [(Aspect.TORCH, Effect.GAINED, False)],
    ),
    "other releases": (
        reach(builds(v2_4="", v2_5="x")),
        reach(builds(v2_4="x", v2_5="")),
        [(Aspect.TORCH, Effect.LOST, True), (Aspect.TORCH, Effect.GAINED, False)],
    ),
    "torch is needed now, on every release": (reach(), reach(builds(v2_4="")), [(Aspect.TORCH, Effect.LOST, False)]),
    "torch is needed now, not on every release": (
        reach(),
        reach(builds(v2_4="", v2_5="x")),
        [(Aspect.TORCH, Effect.LOST, True)],
    ),
    "torch is needed no more": (reach(builds(v2_4="")), reach(), [(Aspect.TORCH, Effect.GAINED, False)]),
    "a Python less": (reach(None, ("3.9", "3.10")), reach(None, ("3.10",)), [(Aspect.PYTHON, Effect.LOST, True)]),
    "a Python more": (reach(None, ("3.10",)), reach(None, ("3.10", "3.11")), [(Aspect.PYTHON, Effect.GAINED, False)]),
    "one Python where any did": (reach(), reach(None, ("3.10",)), [(Aspect.PYTHON, Effect.LOST, True)]),
    "a GPU less": (
        reach(None, None, ("sm_80", "sm_90")),
        reach(None, None, ("sm_90",)),
        [(Aspect.GPU, Effect.LOST, True)],
    ),
    "device code where there was none": (reach(), reach(None, None, ("sm_90",)), [(Aspect.GPU, Effect.GAINED, False)]),
    "no device code any more": (reach(None, None, ("sm_90",)), reach(), [(Aspect.GPU, Effect.LOST, True)]),
    "a newer glibc": (
        reach(None, None, None, floor("glibc", 2, 17)),
        reach(None, None, None, floor("glibc", 2, 28)),
        [(Aspect.SYSTEM, Effect.LOST, True)],
    ),
    # 2.9 is older than 2.17: versions are numbers.
    "an older glibc": (
        reach(None, None, None, floor("glibc", 2, 17)),
        reach(None, None, None, floor("glibc", 2, 9)),
        [(Aspect.SYSTEM, Effect.GAINED, False)],
    ),
    # libstdc++ numbers both: one line per library.
    "a newer libstdc++": (
        reach(None, None, None, floor("CXXABI", 1, 3), floor("GLIBCXX", 3, 4, 18)),
        reach(None, None, None, floor("CXXABI", 1, 3, 9), floor("GLIBCXX", 3, 4, 29)),
        [(Aspect.SYSTEM, Effect.LOST, True)],
    ),
    # auditwheel's policy of manylinux_2_28 ends at GLIBCXX_3.4.24.
    "a newer libstdc++ that is as old as the glibc": (
        reach(None, None, None, floor("glibc", 2, 28), floor("GLIBCXX", 3, 4, 18)),
        reach(None, None, None, floor("glibc", 2, 28), floor("GLIBCXX", 3, 4, 24)),
        [(Aspect.SYSTEM, Effect.CHANGED, False)],
    ),
    "a newer libstdc++ than the glibc": (
        reach(None, None, None, floor("glibc", 2, 28), floor("GLIBCXX", 3, 4, 18)),
        reach(None, None, None, floor("glibc", 2, 28), floor("GLIBCXX", 3, 4, 25)),
        [(Aspect.SYSTEM, Effect.LOST, True)],
    ),
    "another CUDA": (reach(cuda=("12",)), reach(cuda=("13",)), [(Aspect.SYSTEM, Effect.LOST, True)]),
    # Builds of torch for another system have other variants: the releases are compared.
    "another system": (
        reach(
            (BuildOfTorch("2.4.0", "cpu", True, ""), BuildOfTorch("2.5.0", "cpu", False, "x")), machines=("win_amd64",)
        ),
        reach(builds(v2_4="x", v2_5="")),
        [(Aspect.TORCH, Effect.LOST, True), (Aspect.TORCH, Effect.GAINED, False), (Aspect.SYSTEM, Effect.LOST, True)],
    ),
    "another machine": (reach(), reach(machines=("aarch64",)), [(Aspect.SYSTEM, Effect.LOST, True)]),
}


@pytest.mark.parametrize("name", CASES)
def test_losses_shrink_and_gains_do_not(name: str) -> None:
    old, new, expected = CASES[name]
    assert [(c.aspect, c.effect, c.regresses) for c in compare_compatibility(old, new)] == expected


def test_a_lost_release_has_the_reason_of_the_new_file() -> None:
    old = reach(builds(v2_4="", v2_5="", v2_6=""))
    new = reach(builds(v2_4="symbols added later", v2_5="symbols added later", v2_6="not allowed by torch<2.6"))
    (lost,) = compare_compatibility(old, new)
    assert lost.text == (
        "no longer compatible with torch 2.4.0-2.5.0 (symbols added later), 2.6.0 (not allowed by torch<2.6); now "
        "compatible with no known release"
    )
    assert lost.removed == ("2.4.0+cu121", "2.5.0+cu121", "2.6.0+cu121")
