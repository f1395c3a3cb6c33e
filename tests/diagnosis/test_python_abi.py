"""The table of CPython's exports, against the interpreter that runs the tests."""

from __future__ import annotations

import ctypes
import sys

import pytest

from abiscan.diagnosis.causes.python_abi import exporting_versions, is_python_name, known_versions

HERE = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.skipif(HERE not in known_versions(), reason=f"the table has no CPython {HERE}")
@pytest.mark.parametrize(
    "name",
    [
        "PyList_New",
        "PyArg_ParseTuple",
        "_Py_NoneStruct",
        "_Py_ZeroStruct",
        "_PyGen_Send",
        "PyThread_tss_alloc",
        "_PyThreadState_UncheckedGet",
        "PyUnicode_AsUTF8",
        "PyEval_CallObjectWithKeywords",
        "PyUnstable_Code_GetExtra",
        "Py_NoSuchName",
    ],
)
def test_table_agrees_with_this_interpreter(name: str) -> None:
    assert (HERE in exporting_versions(name)) == hasattr(ctypes.pythonapi, name)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("PyList_New", True),
        ("_Py_Dealloc", True),
        ("__Py_x", True),
        ("PyInit_x", False),
        ("Pygments", False),
        ("py_x", False),
    ],
)
def test_spelling(name: str, expected: bool) -> None:
    assert is_python_name(name) is expected
