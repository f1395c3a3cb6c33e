"""Fixes: releases restricted to those on which a whole package loads, and the form of Windows' command line."""

from __future__ import annotations

import pytest

from abiscan.diagnosis.fixes.libtorch_programs import find_program
from abiscan.diagnosis.fixes.torch_fixes import install_torch
from abiscan.diagnosis.fixes.torch_ranges import restrict_releases
from abiscan.diagnosis.fixes.torches_for_python import without_wheels
from abiscan.diagnosis.fixes.windows_commands import for_windows
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.reference import Reference, ReferringFile
from abiscan.library.api import explain
from abiscan.model.python_version import PythonVersion
from abiscan.model.versions import ReleaseRanges
from abiscan.releases import open_index
from tests.diagnosis.explained import imported, shared_object
from tests.tables import table_rows

KNOWN = ("2.1.0", "2.1.2", "2.2.0", "2.7.1", "2.13.0")
PACKAGE = frozenset(("2.1.0", "2.1.2", "2.2.0", "2.7.1"))
OWN = 'Rebuild it\nor: pip install "torch>=2.1.0,<=2.1.2"'


@table_rows
def test_a_range_becomes_that_of_the_package(fix: str, widen: bool, expected: str) -> None:
    assert restrict_releases(fix, KNOWN, PACKAGE.__contains__, widen=widen) == expected


@table_rows
def test_cmd_has_no_comments_and_no_single_quotes(fix: str, shown: str) -> None:
    """https://learn.microsoft.com/windows-server/administration/windows-commands/cmd: only double quotes."""
    assert for_windows(fix) == shown


def test_a_fix_for_windows_has_no_comment_behind_a_command() -> None:
    text = (
        "ImportError: DLL load failed while importing onnxruntime_pybind11_state: The specified module could not be "
        "found.\nPyTorch version: 2.6.0+cu124\nOS: Microsoft Windows 11"
    )
    for cause in explain(text)[0].causes:
        assert not any(line.startswith("pip ") and "  # " in line for line in cause.fix.splitlines())


def test_a_release_that_lacks_only_the_cuda_of_the_file_is_installed_with_it() -> None:
    """Of fussim 0.3.15, `_cuda_cu118`: its symbols are those of 2.7, and the index has that release for CUDA 12.6."""
    file = shared_object("x.so", ("libcudart.so.11.0",))
    lacking = ReleaseRanges((("2.7.0", "2.7.1"),))
    knowledge = Knowledge(releases=open_index(), loads_on=ReleaseRanges(), lacks_cuda_on=lacking)
    missing = MissingName(Reference("_ZN3c104cuda9SetDeviceEa"), knowledge, ReferringFile("x.so", file, "x"))
    expected = "pip install torch==2.7.1 --index-url https://download.pytorch.org/whl/cu118"
    assert install_torch(missing, ReleaseRanges()) == expected


@table_rows
def test_a_file_for_cuda_on_windows_needs_a_torch_of_pytorchs_index(needed: tuple[str, ...], expected: str) -> None:
    file = shared_object("pyd", needed, "win_amd64")
    loads_on = ReleaseRanges((("2.6.0", "2.9.1"),))
    knowledge = Knowledge(releases=open_index(), machine="win_amd64", loads_on=loads_on)
    missing = MissingName(Reference("?f@at@@YAXXZ"), knowledge, ReferringFile("xformers/pyd", file, "xformers"))
    assert install_torch(missing, loads_on) == expected
    assert find_program(missing) is None  # of a wheel: pip installs it, whatever its name


@pytest.mark.parametrize(
    ("path", "name", "program"),
    [("xformers/pyd", "main", None), ("mine/pyd", "PyList_New", None), ("mine/tool", "main", "c++")],
)
def test_an_extension_is_not_a_program_without_python(path: str, name: str, program: str | None) -> None:
    """Wheels of xformers for Windows have the file `xformers/pyd`, here outside of the wheel; that of 0.0.35 (`_C.pyd`)
    imports nothing of CPython."""
    file = shared_object(path, machine="win_amd64", imports=(imported(name),))
    found = find_program(MissingName(Reference("?f@at@@YAXXZ"), Knowledge(), ReferringFile(path, file)))
    assert (None if found is None else found.id) == program


@table_rows
def test_a_torch_without_wheels_for_the_python(fix: str, note: str) -> None:
    """Oracle: the package index has torch 1.13.1 and older for CPython 3.7."""
    found = without_wheels(fix, PythonVersion(3, 7))
    assert found.startswith(note)
    assert bool(found) == bool(note)
