"""Windows after a rewrite, from the release index."""

from __future__ import annotations

from collections.abc import Iterable

from abiscan.model.binding import Owner
from abiscan.model.versions import Windows
from abiscan.releases import windows_of
from abiscan.rules import load_rules
from abiscan.rules.what_if import what_if
from tests.rules.subjects import FIXTURES, index, subject


def window_of(names: Iterable[str]) -> Windows:
    builds = index().builds("x86_64")
    mask = (1 << len(builds)) - 1
    for name in names:
        history = index().history(name)
        mask &= 0 if history is None else history.mask
    return windows_of(builds, [bool(mask >> bit & 1) for bit in range(len(builds))])


def results(fixture: str) -> list[tuple[str, Windows]]:
    about = subject(FIXTURES / fixture)
    names = [each.symbol.name for each in about.imports if each.owner is Owner.TORCH]
    return [(each.rule, each.windows) for each in what_if(load_rules(), about, names, window_of)]


def test_rewriting_const_data_ptr_opens_the_window() -> None:
    # The file also calls mutable_data_ptr<float>(), which 2.1 introduced: FACTS, "Windows".
    assert results("gcc-const-data-ptr.so") == [("const-data-ptr", (("2.1.0", "2.15.0"),))]
    assert results("clang-const-data-ptr.so") == [("const-data-ptr", (("2.1.0", "2.15.0"),))]


def test_materialize_cow_storage() -> None:
    assert results("materialize-cow-storage.so") == [("materialize-cow-storage", (("1.13.0", "2.15.0"),))]


def test_nothing_to_win() -> None:
    assert results("deprecated-type-properties.so") == []
