"""Common compatibility, and inputs that alone exclude something."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from abiscan.compare import compat
from abiscan.model.compat_report import CompatReport
from abiscan.model.compatibility import Aspect, Compared, Compatibility
from tests.compare.typed import builds, floor, reach
from tests.processor_time import at_most


def _together(reaches: list[Compatibility]) -> CompatReport:
    targets = tuple(Compared(f"{n}.whl", f"p{n}", "1", 1, each) for n, each in enumerate(reaches))
    return compat.intersect_compatibility(targets)


def test_the_common_releases_and_who_excludes_one() -> None:
    found = _together(
        [
            reach(builds(v2_4="", v2_5="", v2_6="symbols removed or changed")),
            reach(builds(v2_4="symbols added later", v2_5="", v2_6="")),
            reach(),
        ]
    )
    assert found.common.torch is not None
    assert [b.torch for b in found.common.torch if b.compatible] == ["2.5.0"]
    assert [(e.input, e.excluded) for e in found.exclusions] == [
        ("0.whl", ("2.6.0+cu121",)),
        ("1.whl", ("2.4.0+cu121",)),
    ]
    assert found.conflicts == ()


def test_an_exclusion_by_two_inputs_belongs_to_neither() -> None:
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
    assert (highest.text, highest.required_by) == ("glibc 2.17", "p1 1: who asks")


def test_what_binds_nothing_binds_nothing_together() -> None:
    found = _together([reach(), reach()])
    assert (found.common.torch, found.common.pythons, found.common.gpus, found.conflicts) == (None, None, None, ())


CU12 = reach(builds(v2_9="", v2_12="has CUDA 13"), cuda=("12",))
CU13 = reach(builds(v2_9="has CUDA 12", v2_12=""), cuda=("13",))
PLAIN12, PLAIN13 = reach(cuda=("12",)), reach(cuda=("13",))


def notes(*reaches: Compatibility) -> list[str]:
    known: dict[str, Any] = {
        "x86_64": [
            SimpleNamespace(torch=t, cuda=c) for t, c in (("2.9.0", "12.8"), ("2.12.0", "13.0"), ("2.13.0", None))
        ]
    }
    targets = [Compared(f"{n}.whl", f"p{n}", "1", 1, each) for n, each in enumerate(reaches)]
    return list(compat.cuda_notes(targets, lambda machine: known.get(machine, [])))


@pytest.mark.parametrize("reaches", [(CU12, CU12, reach()), (reach(), reach()), (PLAIN13,), (CU13, PLAIN13)])
def test_one_cuda_needs_no_word(reaches: tuple[Compatibility, ...]) -> None:
    assert notes(*reaches) == []


def test_two_cudas_of_torch_are_of_two_builds() -> None:
    (note,) = notes(CU13, CU12, CU12)
    assert "p1 1 and p2 1 need libraries of CUDA 12, p0 1 needs libraries of CUDA 13" in note
    assert "CUDA 12 comes with torch 2.9.0, CUDA 13 comes with torch 2.12.0" in note
    assert "side by side" not in note


def test_without_torch_one_process_can_have_two_cudas() -> None:
    """Oracle: ctypes.CDLL of libcudart.so.12 and libcudart.so.13 from NVIDIA's wheels in one process, and
    cudaRuntimeGetVersion of each (12080, 13000)."""
    (alone,) = notes(PLAIN12, PLAIN13)
    assert "torch" not in alone
    assert "driver 580" in alone
    (beside,) = notes(PLAIN12, CU13)
    assert "install the others beside it" in beside
    assert "side by side" in beside


def test_thousands_of_inputs_take_linear_time() -> None:
    """A page over a folder of 3,000 files; comparing each with all others took minutes."""
    fails = {True: "symbols added later", False: ""}
    reaches = [reach(builds(**{f"v2_{n}": fails[(n + each) % 7 == 0] for n in range(30)})) for each in range(3000)]
    with at_most(5):
        _together(reaches)
