"""Release ranges after a rewrite, from the release index."""

from __future__ import annotations

from abiscan.model.versions import ReleaseRanges
from tests.rules.reports import report


def results(fixture: str) -> list[tuple[str, ReleaseRanges]]:
    return [(each.rule, each.compatible_with) for each in report(fixture).what_if]


def test_rewriting_const_data_ptr_widens_the_range() -> None:
    # The file also calls mutable_data_ptr<float>(), added in 2.1: FACTS, "Windows".
    assert results("gcc-const-data-ptr.so") == [("const-data-ptr", (("2.1.0", "2.15.0"),))]
    assert results("clang-const-data-ptr.so") == [("const-data-ptr", (("2.1.0", "2.15.0"),))]


def test_materialize_cow_storage() -> None:
    assert results("materialize-cow-storage.so") == [("materialize-cow-storage", (("1.13.0", "2.15.0"),))]


def test_nothing_to_win() -> None:
    assert results("deprecated-type-properties.so") == []
