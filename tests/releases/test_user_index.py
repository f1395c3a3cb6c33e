"""`abiscan releases add` end to end, as the command: a build like any other; one line per error."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from abiscan.model.platforms import OperatingSystem, system_of
from tests import torch_here
from tests.programs import run_abiscan

FIXTURES = Path(__file__).parents[1] / "fixtures"
EXTENSION = FIXTURES / "good-extension.so"
NEEDS_CUDA = FIXTURES / "cuda-build-required.so"
KEY = "2.13.0+cpu-x86_64"


def run(data: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return run_abiscan(*arguments, env=os.environ | {"XDG_DATA_HOME": str(data)})


def complaint(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of a failed command."""
    assert done.returncode in (2, 3), done
    assert "Traceback" not in done.stderr
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the CPU part of this environment's torch (2.13.0)."""
    directory = tmp_path_factory.mktemp("data")
    done = run(directory, "releases", "add", torch_here.cpu_build(tmp_path_factory.mktemp("torch")))
    assert done.returncode == 0, done.stderr
    assert KEY in done.stdout
    return directory


def index_file(data: Path) -> Path:
    (file,) = (data / "abiscan" / "releases").iterdir()
    return file


@pytest.mark.torch
def test_it_is_listed(data: Path) -> None:
    builds = json.loads(run(data, "releases", "-f", "json").stdout)
    rows = builds["builds"] if isinstance(builds, dict) else builds
    (mine,) = [row for row in rows if row["user"]]
    assert (mine["key"], mine["torch"], mine["variant"], mine["cuda"]) == (KEY, "2.13.0", "cpu", None)
    # 92 for Linux (60 that files are checked against, 31 earlier ones, and this); the others are for Windows and macOS.
    assert Counter(system_of(row["machine"]) for row in rows)[OperatingSystem.LINUX] == 92


@pytest.mark.torch
def test_imports_are_resolved_against_it(data: Path) -> None:
    """The CPU build has no c10_cuda; the shipped build of the same version has it."""
    verdicts = {}
    for torch in ("2.13.0+cpu", "2.13.0+cu130", KEY):
        document = json.loads(run(data, "--torch", torch, NEEDS_CUDA, "-f", "json").stdout)
        assert document["torch_build"]["kind"] == "release"
        (artifact,) = document["artifacts"]
        verdicts[torch] = (document["torch_build"]["variant"], artifact["verdict"])
    assert verdicts["2.13.0+cpu"] == verdicts[KEY] == ("cpu", "fails")
    assert verdicts["2.13.0+cu130"][0] == "cu130"
    (good,) = json.loads(run(data, "--torch", "2.13.0+cpu", EXTENSION, "-f", "json").stdout)["artifacts"]
    assert good["verdict"] == "loads"


@pytest.mark.torch
def test_the_matrix_has_it(data: Path) -> None:
    (artifact,) = json.loads(run(data, "--matrix", NEEDS_CUDA, "-f", "json").stdout)["artifacts"]
    rows = {row["build"]: row for row in artifact["releases"]}
    assert rows[KEY]["verdict"] == "fails"
    assert rows[KEY]["reason"] == "CPU build"
    assert rows["2.13.0+cu130-x86_64"]["verdict"] == "loads"


def _truncated(raw: bytes) -> bytes:
    return raw[: len(raw) // 2]


def _later(raw: bytes) -> bytes:
    return raw[:8] + (99).to_bytes(4, "little") + raw[12:]


def _overwritten(raw: bytes) -> bytes:
    return raw[:200] + bytes(300) + raw[500:]


def _empty(_raw: bytes) -> bytes:
    return b""


BAD: list[tuple[Callable[[bytes], bytes], str]] = [
    (_truncated, "damaged release index"),
    (_later, "of a later format (99; this abiscan reads 1): upgrade abiscan"),
    (_overwritten, "damaged release index"),
    (_empty, "add the build, again"),
]


@pytest.mark.torch
@pytest.mark.parametrize(("spoil", "says"), BAD, ids=["truncated", "later", "overwritten", "empty"])
@pytest.mark.parametrize(
    "command", [["--torch", "2.13.0+cpu", EXTENSION], ["releases"], ["explain", "_ZN3c104cuda9SetDeviceEi"]]
)
def test_a_bad_index_file_is_one_line(
    data: Path, tmp_path: Path, spoil: Callable[[bytes], bytes], says: str, command: list[str | Path]
) -> None:
    bad = tmp_path / "abiscan" / "releases" / index_file(data).name
    bad.parent.mkdir(parents=True)
    bad.write_bytes(spoil(index_file(data).read_bytes()))
    line = complaint(run(tmp_path, *command))
    assert says in line
    assert str(bad) in line


def test_a_wheel_without_libtorch_is_one_line(tmp_path: Path) -> None:
    wheel = tmp_path / "other-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("other/__init__.py", "")
    assert "no torch in it" in complaint(run(tmp_path, "releases", "add", wheel))


def test_an_invalid_wheel_is_one_line(tmp_path: Path) -> None:
    wheel = tmp_path / "torch-9.9.9-py3-none-any.whl"
    wheel.write_bytes(b"not a zip file")
    assert "neither a wheel" in complaint(run(tmp_path, "releases", "add", wheel))
    assert "no such wheel or directory" in complaint(run(tmp_path, "releases", "add", tmp_path / "absent.whl"))


@pytest.mark.torch
def test_an_unknown_version_lists_what_is_known(data: Path) -> None:
    line = complaint(run(data, "--torch", "9.9", EXTENSION))
    assert "from 1.0.0 to 2.15.0" in line
    assert "2.13.0+cpu, 2.13.0+cu130" in complaint(run(data, "--torch", "2.13.0+cu126", EXTENSION))
