"""The mangling convention of a name."""

from __future__ import annotations

import pytest

from abiscan.mangling import NameKind, classify
from tests.tables import table_rows
from tests.torch_here import exported


@table_rows
def test_classify(name: str, kind: NameKind) -> None:
    assert classify(name) is kind


@pytest.mark.torch
def test_the_vector_functions_of_libtorch() -> None:
    """libtorch_cpu 2.13.0 exports 675 names of SLEEF's vector functions; GNU nm demangles none of them."""
    vector = [name for name in exported("libtorch_cpu.so") if classify(name) is NameKind.VECTOR_ABI]
    assert len(vector) == 675
    assert all("_Sleef_" in name or name[name.index("_", 5) + 1 :].isidentifier() for name in vector)
