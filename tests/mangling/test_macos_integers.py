"""Oracle: Clang for x86_64-apple-macos and x86_64-linux-gnu, for functions with `__INT64_TYPE__` and
`__UINT64_TYPE__`."""

from __future__ import annotations

import pytest

from abiscan.mangling.macos_integers import linux_names
from tests.tables import table_rows


@table_rows
def test_int64_is_long_on_linux(macos: str, linux: str) -> None:
    assert linux in linux_names(macos)


@pytest.mark.parametrize("name", ["_ZN3c105ErrorC2Ev", "_Z1fl", "printf", "_Z"])
def test_other_names_have_none(name: str) -> None:
    assert linux_names(name) == ()


def test_a_broken_name_ends() -> None:
    assert linux_names("_ZN9999xx") == ()
