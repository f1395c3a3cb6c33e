"""Evidence about a CPython symbol: versions as ranges."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.causes.python_abi import causes, ranges
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.reference import Reference
from abiscan.environment.python_names import exported_by, systems_exporting
from abiscan.model.platforms import OperatingSystem
from abiscan.model.python_version import PythonVersion
from tests.tables import table_rows


@table_rows
def test_ranges(name: str, expected: str) -> None:
    assert ranges(exported_by(name)) == expected


def test_ranges_name_the_free_threaded_builds_that_lack_a_name() -> None:
    of_the_default_builds = [version for version in exported_by("PyList_New") if not version.free_threaded]
    assert ranges(of_the_default_builds) == "2.7-3.14, not 3.13t-3.14t"


_OF_3_13 = Knowledge(machine="win_amd64", pythons=(PythonVersion(3, 13),), pythons_because="tag cp313")


@pytest.mark.parametrize(
    ("name", "knowledge", "evidence", "fix"),
    [
        # llvm-readobj --coff-exports of python37.dll to python314.dll; nm -D of interpreters of Linux.
        (
            "_PyThreadState_UncheckedGet",
            _OF_3_13,
            "_PyThreadState_UncheckedGet is exported by CPython 3.7-3.12.",
            "Restrict the wheel to CPython 3.7-3.12, or rebuild without the symbol.",
        ),
        (
            "_Py_Uid_Converter",
            Knowledge(machine="win_amd64"),
            "_Py_Uid_Converter is not exported by any CPython for Windows from 3.7 to 3.14.",
            "Leave the call of _Py_Uid_Converter out on Windows (#ifndef _WIN32), and build again.",
        ),
        (
            "PyErr_SetFromWindowsErr",
            Knowledge(machine="macosx_arm64"),
            "PyErr_SetFromWindowsErr is not exported by any CPython for macOS from 3.8 to 3.14.",
            "Leave the call of PyErr_SetFromWindowsErr out on macOS (#ifdef _WIN32), and build again.",
        ),
    ],
)
def test_a_name_is_looked_up_on_the_system_of_the_file(
    name: str, knowledge: Knowledge, evidence: str, fix: str
) -> None:
    (cause,) = causes(MissingName(Reference(name), knowledge))
    assert evidence in cause.evidence
    assert cause.as_cause().fix.splitlines()[0] == fix


def test_python3_dll_exports_the_stable_abi_only() -> None:
    """`_PyList_Extend` is in no release's Misc/stable_abi.toml; python37.dll to python314.dll export it."""
    (cause,) = causes(MissingName(Reference("_PyList_Extend", library="PYTHON3.dll"), _OF_3_13))
    assert cause.evidence[0].endswith("exports the stable ABI only; _PyList_Extend is not part of it.")
    assert "CPython 3.7-3.14" in cause.evidence[1]


def test_a_dll_of_one_version_names_the_cpython() -> None:
    (cause,) = causes(MissingName(Reference("_PyThreadState_UncheckedGet", library="python313.dll"), _OF_3_13))
    assert any("CPython 3.13 (the file imports it from python313.dll)" in each for each in cause.evidence)


def test_systems_with_a_name() -> None:
    """nm -D, llvm-readobj and llvm-nm of interpreters of the three systems."""
    assert systems_exporting("PyExc_WindowsError") == (OperatingSystem.WINDOWS,)
    assert systems_exporting("Py_FrozenMain") == (OperatingSystem.LINUX, OperatingSystem.MACOS)
    assert not systems_exporting("Py_NoSuchName")
