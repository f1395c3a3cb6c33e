"""The table of CPython symbols, compared with nm on local interpreters and with CPython's own guarantees."""

from __future__ import annotations

import gzip
import re
import sys
from pathlib import Path

import pytest

from abiscan.data import data_file
from abiscan.environment.python_names import (
    exported_by,
    exporting_all,
    exports,
    is_python_name,
    known_versions,
    stable_abi,
)
from abiscan.model.python_version import PythonVersion
from tests.programs import output_of
from tests.tables import table_rows

HERE = PythonVersion(sys.version_info.major, sys.version_info.minor, "t" in sys.abiflags)
_FILE = re.compile(r"(?:lib)?python(\d)\.(\d+)(t?)m?(?:\.so\.1\.0)?")
# Names below `ifdef` in Misc/stable_abi.toml: MS_WINDOWS, USE_STACKCHECK (Windows again), Py_REF_DEBUG.
_CONDITIONAL = re.compile(r"Windows|MBCS|CodePage|PyOS_CheckStack$|_Py_RefTotal$|_Py_NegativeRefcount$")


def _interpreters() -> dict[PythonVersion, list[Path]]:
    """The interpreter that runs the tests and other installed ones, each with its libpython."""
    prefix = Path(sys.base_prefix)
    found: dict[PythonVersion, list[Path]] = {}
    for root in {prefix, *prefix.parent.iterdir()}:
        for path in sorted(
            [*root.glob("bin/python?.*"), *root.glob("lib/libpython?.*"), *root.glob("lib/*/libpython?.*")]
        ):
            named = _FILE.fullmatch(path.name)
            if named is not None and path.is_file():
                version = PythonVersion(int(named[1]), int(named[2]), bool(named[3]))
                found.setdefault(version, []).append(path)
    return found


INTERPRETERS = _interpreters()


def _names(paths: list[Path]) -> set[str]:
    command = ["nm", "-D", "--defined-only", "--format=posix"]
    listed = [output_of([*command, path]) for path in paths]
    names = {line.split("@")[0].split(" ")[0] for text in listed for line in text.splitlines()}
    return set(filter(is_python_name, names))


def _table(version: PythonVersion) -> set[str]:
    lines = gzip.decompress(Path(data_file("python_exports.txt.gz")).read_bytes()).decode().splitlines()
    return {name for line in lines[1:] for name in line.split()[1:] if version in exported_by(name)}


def _settled(names: set[str]) -> set[str]:
    """Names that no patch release adds or removes (https://devguide.python.org/developer-workflow/c-api/)."""
    return {name for name in names if not name.startswith(("_", "PyUnstable_"))}


def test_this_interpreter_is_known() -> None:
    assert HERE in known_versions()
    assert HERE in INTERPRETERS


@pytest.mark.parametrize("version", sorted(set(INTERPRETERS) & set(known_versions())), ids=str)
def test_what_nm_lists(version: PythonVersion) -> None:
    """A patch release other than that of the table may differ in a few private names."""
    names, table = _names(INTERPRETERS[version]), _table(version)
    assert len(names) > 1000
    assert _settled(names) == _settled(table)
    assert len(names ^ table) < len(names) * 0.03


@pytest.mark.parametrize("version", [v for v in known_versions() if v.major == 3], ids=str)
def test_stable_abi_is_exported(version: PythonVersion) -> None:
    """Names that Misc/stable_abi.toml guarantees since a version are exported by it and later ones, also in builds that
    no test machine has."""
    is_exported = exports(version)
    assert is_exported is not None
    promised = {
        name
        for name, since in stable_abi().items()
        if tuple(map(int, since.split("."))) <= (version.major, version.minor) and not _CONDITIONAL.search(name)
    }
    # Guarantees that CPython broke: nm on libpython3.9.so finds no PyCFunction_New; the thread's native id was added in
    # 3.8.
    broken = {
        "3.6": {"PyThread_get_thread_native_id"},
        "3.7": {"PyThread_get_thread_native_id"},
        "3.9": {"PyCFunction_New"},
    }
    assert {name for name in promised if not is_exported(name)} == broken.get(str(version), set())


@table_rows
def test_versions_of_a_name(name: str, expected: str) -> None:
    assert " ".join(map(str, exported_by(name))) == expected
    for version in known_versions():
        is_exported = exports(version)
        assert is_exported is not None
        assert is_exported(name) == (version in exported_by(name))


def test_an_unknown_version_is_no_evidence() -> None:
    assert exports(PythonVersion(3, 99)) is None
    assert exports(PythonVersion(3, 12, True)) is None


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ({"PyList_New", "PyType_GetModuleByDef", "malloc"}, "3.11 3.12 3.13 3.14"),
        # In the limited API since 3.4, but missing in 3.9.
        ({"PyModule_Create2", "PyCFunction_New"}, "3.6 3.7 3.8 3.10 3.11 3.12 3.13 3.14"),
        ({"PyUnicode_AsUTF8AndSize", "PyBuffer_Release"}, "3.6 3.7 3.8 3.9 3.10 3.11 3.12 3.13 3.14"),
        ({"PyList_New", "_PyNoSuchName"}, ""),
    ],
)
def test_pythons_for_an_abi3_file(names: set[str], expected: str) -> None:
    """Python 2 and free-threaded builds do not import files with this suffix (PEP 384, PEP 703)."""
    found = [version for version in exporting_all(names) if version.major >= 3 and not version.free_threaded]
    assert " ".join(map(str, found)) == expected


def test_all_of_nothing_is_every_version() -> None:
    assert exporting_all(["malloc", "_ZN2at4_ops"]) == known_versions()


@table_rows
def test_spelling(name: str, expected: bool) -> None:
    assert is_python_name(name) is expected
