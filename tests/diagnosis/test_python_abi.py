"""Evidence about a CPython symbol: versions as ranges."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.causes.python_abi import ranges
from abiscan.environment.python_names import exported_by


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        # tests/environment/test_python_names.py checks the versions themselves.
        ("PyList_New", "2.7-3.14"),
        ("PyLong_GetSign", "3.14"),
        ("PyUnicode_AsUnicode", "3.6-3.11"),
        ("PyCFunction_New", "2.7-3.8, 3.10-3.14"),
        ("_Py_DecRefShared", "3.13t-3.14t"),
        ("Py_NoSuchName", ""),
    ],
)
def test_ranges(name: str, expected: str) -> None:
    assert ranges(exported_by(name)) == expected


def test_ranges_name_the_free_threaded_builds_that_lack_a_name() -> None:
    of_the_default_builds = [version for version in exported_by("PyList_New") if not version.free_threaded]
    assert ranges(of_the_default_builds) == "2.7-3.14, not 3.13t-3.14t"
