"""Layouts on aarch64. A `std::mutex` is glibc's pthread_mutex_t: __SIZEOF_PTHREAD_MUTEX_T in
sysdeps/aarch64/nptl/bits/pthreadtypes-arch.h is 48, in that of x86 it is 40."""

from __future__ import annotations

import pytest

from abiscan.releases.layout import Field, Layout
from abiscan.releases.layout_table import LayoutTable, pack
from abiscan.releases.open_layouts import MachineLayouts, layouts_of

RELEASES = {"2.8.0": "2.8.0", "2.9.0": "2.9.0"}


def one(size: int, place: int = 0) -> Layout:
    return Layout(size, 8, (Field(place, "x", ""),))


def tables() -> tuple[LayoutTable, MachineLayouts]:
    """Two releases: `Same` is equal on both architectures, `Other` has a mutex, `Gone` is missing on the second, `Both`
    contains `Other`, and `Late` grows only on the second."""
    holding = Layout(8, 8, (Field(0, "o", "Other"),))
    base = {
        "2.8.0": {"Same": one(8), "Other": one(40), "Gone": one(8), "Both": holding, "Late": one(8)},
        "2.9.0": {"Same": one(16), "Other": one(48, 64), "Gone": one(16), "Both": holding, "Late": one(8)},
    }
    beside = {
        "2.8.0": {"Same": one(8), "Other": one(48), "Both": holding, "Late": one(8)},
        "2.9.0": {"Same": one(16), "Other": one(48), "Both": holding, "Late": one(16)},
    }
    first = LayoutTable("base", pack(base, RELEASES, {}, {}))
    return first, MachineLayouts("beside", first, pack(beside, {"2.8.0": "2.8.0", "2.9.0": "2.9.0"}, {}, {}, first))


def test_differences_override_the_base() -> None:
    base, beside = tables()
    assert [record for record, _layouts in beside.records()] == ["Gone", "Late", "Other"]
    assert beside.layout("Same", "2.9.0") == one(16)
    assert beside.layout("Other", "2.8.0") == one(48)
    assert beside.layout("Gone", "2.8.0") is None
    assert base.layout("Gone", "2.8.0") == one(8)
    assert beside.layout("Same", "2.10.0") is None


@pytest.mark.parametrize(
    ("record", "changes", "changes_beside"),
    [("Same", True, True), ("Other", True, False), ("Gone", True, False), ("Both", True, False), ("Late", False, True)],
)
def test_a_record_changes_where_its_own_layouts_do(record: str, changes: bool, changes_beside: bool) -> None:
    for table, expected in zip(tables(), (changes, changes_beside), strict=True):
        numbers = {table.number(record, release) for release in RELEASES} - {0} if record in table.changing else set()
        assert (len(numbers) > 1) == expected


def test_a_mutex_has_48_bytes_on_aarch64() -> None:
    base, beside = layouts_of("x86_64", None), layouts_of("aarch64", None)
    assert base is not None
    assert beside is not None
    assert layouts_of("riscv64", None) is None
    for release in ("2.9.1", "2.13.0"):
        # Contains one: c10::GeneratorImpl::mutex_.
        own, other = beside.layout("c10::GeneratorImpl", release), base.layout("c10::GeneratorImpl", release)
        assert own is not None
        assert other is not None
        assert own.size == other.size + 8
        assert beside.layout("c10::TensorImpl", release) == base.layout("c10::TensorImpl", release)
    # No release before 2.0 in the index has a wheel for it.
    assert beside.layout("c10::TensorImpl", "1.13.1") is None
    assert beside.number("c10::TensorImpl", "2.12.1") != beside.number("c10::TensorImpl", "2.13.0")
