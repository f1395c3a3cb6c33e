"""Resolution on a release for files that name the library of each import. tests/fixtures/build.py lists their imports;
exports of releases are from `llvm-readobj --coff-exports` and `llvm-objdump --exports-trie` on torch's wheels."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.binary import Binary, open_binary
from abiscan.environment.python_names import exports as python_exports
from abiscan.loader.resolution import PythonExports, Resolution
from abiscan.loader.resolve_by_library import resolve_by_library
from abiscan.model.imports import Status
from abiscan.model.platforms import OperatingSystem
from abiscan.model.python_version import PythonVersion
from abiscan.releases import open_index
from abiscan.releases.exports import ReleasedExports

INDEX = open_index()
OF_2_8 = "?toScalarType@TypeMeta@caffe2@@QEBA?AW4ScalarType@c10@@XZ"


def python(minor: int, system: OperatingSystem = OperatingSystem.WINDOWS) -> tuple[PythonExports, ...]:
    found = python_exports(PythonVersion(3, minor), system)
    assert found is not None
    return (found,)


def resolve(file: Path, torch: str, siblings: dict[str, Binary] | None = None) -> Resolution:
    exports = ReleasedExports(INDEX, INDEX.resolve(torch, "win_amd64"))
    return resolve_by_library(open_binary(file), siblings or {}, exports, python(11))


def statuses(resolution: Resolution) -> dict[str, tuple[Status, str | None]]:
    return {each.name: (each.status, each.provider) for each in resolution.imports}


@pytest.mark.parametrize(
    ("torch", "status"), [("2.7.1", Status.MISSING), ("2.8.0", Status.RESOLVED), ("2.15.0", Status.RESOLVED)]
)
def test_a_name_is_looked_up_in_the_library_that_the_file_names(fixtures_dir: Path, torch: str, status: Status) -> None:
    found = statuses(resolve(fixtures_dir / "windows/demo/_C.cp311-win_amd64.pyd", torch))
    assert found[OF_2_8][0] is status
    assert found["??1SymInt@c10@@QEAA@XZ"] == (Status.RESOLVED, "c10.dll")
    assert found["PyList_New"] == (Status.RESOLVED, "python")
    assert found["GetProcAddress"] == (Status.RESOLVED, "kernel32.dll")
    assert found["free"] == (Status.RESOLVED, "api-ms-win-crt-heap-l1-1-0.dll")


def test_a_library_of_the_package_serves_names_and_ordinals_whatever_the_case(fixtures_dir: Path) -> None:
    helper = open_binary(fixtures_dir / "windows/demo/helper.dll")
    file = fixtures_dir / "windows/demo/_C.cp311-win_amd64.pyd"
    found = statuses(resolve(file, "2.8.0", {"demo/helper.dll": helper}))
    assert found["help"] == found["#3"] == (Status.RESOLVED, "helper.dll")
    alone = resolve(file, "2.8.0")
    assert statuses(alone)["help"] == (Status.UNDECIDED, None)
    assert alone.missing_libraries == ("HELPER.dll",)


def test_what_no_cpu_build_tells_is_open(fixtures_dir: Path) -> None:
    """The wheels with CUDA are not on the package index, so no build in the index has c10_cuda.dll."""
    resolution = resolve(fixtures_dir / "windows/cuda.pyd", "2.8.0")
    found = statuses(resolution)
    assert found["?current_device@cuda@c10@@YACXZ"] == (Status.UNDECIDED, None)
    assert found["PyList_New"] == (Status.RESOLVED, "python3.dll")
    assert not resolution.missing_libraries
    assert not resolution.missing_torch_libraries


def test_another_librarys_export_does_not_serve(fixtures_dir: Path) -> None:
    resolution = resolve(fixtures_dir / "windows/wrong.pyd", "2.8.0")
    found = statuses(resolution)
    assert found["??1SymInt@c10@@QEAA@XZ"] == (Status.UNREACHABLE, "c10.dll")
    assert found["?none_has_it@at@@YAXXZ"] == (Status.MISSING, None)
    # PC/python3dll.c of CPython lists the exports of python3.dll: the stable ABI.
    assert found["_PyList_Extend"] == (Status.MISSING, None)
    assert found["PyObject_GC_IsTracked"] == (Status.RESOLVED, "python")
    assert found["open"] == (Status.UNDECIDED, None)
    assert resolution.missing_libraries == ("nowhere.dll",)


def test_no_build_decides_nothing(fixtures_dir: Path) -> None:
    resolution = resolve_by_library(open_binary(fixtures_dir / "windows/demo/_C.cp311-win_amd64.pyd"), {}, None, ())
    found = statuses(resolution)
    assert found[OF_2_8] == found["??1SymInt@c10@@QEAA@XZ"] == (Status.UNDECIDED, None)


@pytest.mark.parametrize(
    ("torch", "status"), [("2.3.1", Status.MISSING), ("2.4.0", Status.RESOLVED), ("2.15.0", Status.RESOLVED)]
)
def test_the_two_level_namespace_of_macos(fixtures_dir: Path, torch: str, status: Status) -> None:
    exports = ReleasedExports(INDEX, INDEX.resolve(torch, "macosx_arm64"))
    file = open_binary(fixtures_dir / "macos/_C.cpython-311-darwin.so")
    resolution = resolve_by_library(file, {}, exports, python(11, OperatingSystem.MACOS))
    found = statuses(resolution)
    assert found["_ZNK3c105Error4whatEv"][0] is status
    assert found["_ZN3c106detail14torchCheckFailEPKcS2_jS2_"] == (Status.RESOLVED, "libc10.dylib")
    # Exported by libc10.dylib, but expected in libtorch_cpu.dylib.
    assert found["_ZN3c106SymInt19promote_to_negativeEv"] == (Status.UNREACHABLE, "libc10.dylib")
    # Flat lookup.
    assert found["_ZN2at3mps14getMPSProfilerEv"] == (Status.RESOLVED, "libtorch_cpu.dylib")
    assert found["PyList_New"] == (Status.RESOLVED, "python")
    assert found["_Py_NoSuchName"] == (Status.MISSING, None)
    assert found["weak_one"] == (Status.WEAK, None)
    assert found["malloc"] == (Status.RESOLVED, "libSystem.B.dylib")
    assert found["unknown"] == found["help"] == (Status.UNDECIDED, None)
    assert resolution.missing_libraries == ("@loader_path/.dylibs/libhelp.dylib",)
