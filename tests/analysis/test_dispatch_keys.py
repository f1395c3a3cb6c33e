"""Dispatch keys that a file registers, from the arguments that its code passes to torch::Library."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import pytest

from abiscan.analysis.dispatch_keys import KEY_POSITION, having_keys, key_takers, registered_keys
from abiscan.elf import open_elf
from abiscan.releases.layout_table import SHIPPED, LayoutTable
from abiscan.rules.computed.layout_drift import Numbers
from tests.tables import table_rows

DRIFT = Path(__file__).parents[1] / "fixtures" / "drift"
_STRING = "NSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
STD = f"_ZN5torch7LibraryC1ENS0_4KindE{_STRING}St8optionalIN3c1011DispatchKeyEEPKcj"
OF_C10 = "_ZN5torch7LibraryC1ENS0_4KindESsN3c108optionalINS2_11DispatchKeyEEEPKcj"
IMPL = "_ZNR5torch7Library5_implEPKcONS_11CppFunctionENS_17_RegisterOrVerifyE"
CPU, NONE, UNKNOWN = (49, 0, 1, 0), (None, None, 0, None), (None,) * 4


class Code:
    def __init__(self, words: dict[str, tuple[tuple[int | None, ...], ...]]) -> None:
        self.words = words

    def call_constants(self, names: Collection[str], position: int) -> Any:
        assert position == KEY_POSITION
        return {name: self.words[name] for name in names}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ({STD: (CPU,)}, Numbers((49,), complete=True)),
        ({STD: (CPU, (144, 0, 1, None))}, Numbers((49, 144), complete=True)),
        ({STD: (CPU, NONE)}, Numbers((49,), complete=False)),
        ({STD: (CPU, UNKNOWN)}, Numbers((49,), complete=False)),
        ({STD: (CPU, (None, 0, 1, 0))}, Numbers((49,), complete=False)),
        # c10::optional (c10/util/Optional.h of 2.0): the flag, an unset byte, the number.
        ({OF_C10: ((1, None, 44, 1),)}, Numbers((300,), complete=True)),
        ({OF_C10: ((0, None, None, None),)}, Numbers((), complete=False)),
        ({}, Numbers((), complete=False)),
    ],
)
def test_numbers_and_whether_they_are_all(words: Any, expected: Numbers) -> None:
    assert registered_keys(Code(words), [*words, IMPL]) == expected  # type: ignore[arg-type]


def test_of_a_file() -> None:
    """tests/fixtures/drift/registers.cpp: TORCH_LIBRARY_IMPL(aten, PrivateUse3, m); readelf lists its imports."""
    elf = open_elf(DRIFT / "registers-torch-2.8.so")
    names = [each.name for each in elf.imports]
    assert key_takers(names) == (STD,)
    assert registered_keys(elf, names) == Numbers((64,), complete=True)


RELEASES = ("2.6.0", "2.7.0", "2.7.1", "2.8.0", "2.13.0")


@table_rows
def test_an_invalid_key_excludes_a_release(numbers: tuple[int, ...], left: tuple[str, ...], telling: str) -> None:
    found = having_keys(RELEASES, lambda: Numbers(numbers, complete=False), LayoutTable(SHIPPED))
    assert found is not None
    assert found.releases == left
    assert telling in found.because


def test_what_rules_no_release_out_tells_nothing() -> None:
    table = LayoutTable(SHIPPED)
    # CPU in some and XLA in others; CatchAll, an alias of Undefined; Autograd, with the number of StartOfAliasKeys; the
    # last key, with that of EndOfAliasKeys.
    for numbers, releases in (
        ((50, 0), RELEASES),
        ((145,), ("2.7.0", "2.8.0")),
        ((150,), ("2.7.0", "2.8.0")),
        ((), RELEASES),
    ):
        assert having_keys(releases, lambda: Numbers(numbers, complete=True), table) is None  # noqa: B023 - called here

    def read() -> Numbers:
        raise AssertionError("the releases have the same numbers")

    assert having_keys(("2.8.0", "2.9.1", "2.12.0"), read, table) is None
    # Nothing is known about 9.9: it stays.
    found = having_keys(("2.7.0", "2.8.0", "9.9.0"), lambda: Numbers((65,), complete=True), table)
    assert found is not None
    assert found.releases == ("2.8.0", "9.9.0")
