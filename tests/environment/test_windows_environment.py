"""Environments for Windows, read on any system. Expected paths are those of `site.getsitepackages()` and `sys.prefix`
of CPython 3.11 for Windows, run under Wine."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.environment.installed_torch import find_torches, read_torch
from abiscan.environment.owning_environment import owning_environment
from abiscan.environment.python import read_environment
from abiscan.model.python_version import PythonVersion, python_of_dll
from tests.environment.windows_tree import install_torch, make_installation, make_venv


@pytest.mark.parametrize("named", ["", "python.exe"])
def test_an_installation(tmp_path: Path, named: str) -> None:
    site = make_installation(tmp_path)
    found = read_environment(str(tmp_path / named))
    assert found.prefix == str(tmp_path)
    assert found.site_packages == (str(site),)
    assert found.version == PythonVersion(3, 11)
    assert found.module_tags == ("cp311", "abi3")


@pytest.mark.parametrize("named", ["", "Scripts/python.exe"])
def test_a_virtual_environment(tmp_path: Path, named: str) -> None:
    make_installation(tmp_path / "base")
    site = make_venv(tmp_path / "venv", str(tmp_path / "base"))
    found = read_environment(str(tmp_path / "venv" / named))
    assert found.prefix == str(tmp_path / "venv")
    assert found.site_packages == (str(site),)
    assert found.version == PythonVersion(3, 12)


def test_a_file_belongs_to_the_environment_that_contains_it(tmp_path: Path) -> None:
    site = make_venv(tmp_path / "venv", "C:\\Python312")
    torch = install_torch(site)
    found = owning_environment(str(torch / "lib/c10.dll"), None)
    assert found is not None
    assert find_torches(found) == (str(torch),)
    assert found.version == PythonVersion(3, 12)


def test_its_torch(tmp_path: Path) -> None:
    torch = read_torch(str(install_torch(make_installation(tmp_path))))
    assert (torch.torch, torch.variant, torch.machine) == ("2.8.0", "cu128", "win_amd64")
    assert torch.sonames == ("c10.dll", "torch_cpu.dll", "c10_cuda.dll")


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("python311.dll", PythonVersion(3, 11)),
        ("PYTHON39.DLL", PythonVersion(3, 9)),
        ("python313t.dll", PythonVersion(3, 13, free_threaded=True)),
        ("python3.dll", None),
        ("python3t.dll", None),
        ("python311.lib", None),
        ("pythoncom311.dll", None),
        ("311.dll", None),
    ],
)
def test_the_version_of_a_dll(name: str, version: PythonVersion | None) -> None:
    assert python_of_dll(name) == version
