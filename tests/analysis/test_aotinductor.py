"""A model of AOTInductor, alone and in a package, against torch's own headers, index and loader."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests import torch_here

MODEL = Path(__file__).parents[1] / "fixtures" / "aotinductor" / "model.so"


def scanned(path: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "abiscan", "scan", "-f", "json", "-q", *options, str(path)]
    (artifact,) = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)["artifacts"]
    return dict(artifact)


def told(artifact: dict[str, Any]) -> list[str]:
    return [fact["value"] for fact in artifact["provenance"]["facts"] if fact["topic"] == "aotinductor"]


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The members that torch 2.13.0 writes, stored, under the names that it gives them."""
    out = tmp_path / "model.pt2"
    folder = "model/data/aotinductor/model/c56zq5yl.wrapper"
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("model/archive_format", "pt2")
        archive.writestr("model/byteorder", "little")
        archive.writestr(f"{folder}_metadata.json", json.dumps({"AOTI_DEVICE_KEY": "cpu"}))
        archive.write(MODEL, f"{folder}.so")
    return out


def test_a_model_and_the_operators_that_it_calls_by_name(package: Path) -> None:
    for path in (MODEL, package):
        artifact = scanned(path, "--torch", "2.13.0")
        assert artifact["verdict"] == "loads"
        assert told(artifact) == ["a compiled model", "calls operators that have no C shim"]


def test_the_releases_that_have_its_shims() -> None:
    """torch/csrc/inductor/aoti_torch/c/shim.h has aoti_torch_new_tensor_handle since 2.7.0, and all others before."""
    releases = {r["torch"]: r["verdict"] for r in scanned(MODEL, "--torch", "2.13.0", "--matrix")["releases"]}
    assert min((version for version in releases if releases[version] == "loads"), key=parts) == FIRST
    assert releases["2.13.0"] == "loads"
    assert {releases[version] for version in releases if parts(version) < parts(FIRST)} == {"fails"}


FIRST = "2.7.0"


def parts(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


@pytest.mark.torch
def test_the_installed_torch_loads_it_and_declares_what_it_imports() -> None:
    torch = torch_here.directory()
    artifact = scanned(MODEL, "--torch", "installed")
    loads = subprocess.run(
        [sys.executable, "-c", f"import torch, ctypes, os; ctypes.CDLL({str(MODEL)!r}, os.RTLD_NOW)"],
        capture_output=True,
        check=False,
    )
    assert (artifact["verdict"] == "loads") == (loads.returncode == 0)
    headers = "".join(path.read_text() for path in (torch / "include/torch/csrc/inductor/aoti_torch").rglob("*.h"))
    shims = [i["mangled"] for i in artifact["imports"] if i["owner"] == "torch"]
    assert len(shims) == 21
    # The names of dtypes, devices and layouts are put together by macros.
    plain = [name for name in shims if not name.startswith(("aoti_torch_dtype_", "aoti_torch_device_type_"))]
    assert [name for name in plain if name not in headers] == []
