"""Nothing in the working directory runs in abiscan or its children. Each directory here contains a program or module
that writes a file when it runs; the test also asserts that it does without protection. Oracle: Python."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from abiscan.child_processes import find_tool, run_module, run_tool, safe_workers
from tests.programs import run_program

FIXTURES = Path(__file__).parent / "fixtures"


def trap(folder: Path, name: str) -> Path:
    """Make a package in `folder` that writes a file when it is imported or run. Return the path of that file."""
    sprung = folder / "SPRUNG"
    for module in ("__init__", "__main__"):
        path = folder / name / f"{module}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"open({str(sprung)!r}, 'w').close()\n")
    return sprung


def abiscan(*arguments: str, cwd: Path, module: bool = False, **variables: str) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, "-m", "abiscan"] if module else [str(Path(sys.executable).with_name("abiscan"))]
    return run_program([*script, *arguments], cwd=cwd, env={**os.environ, **variables}, timeout=120)


@pytest.mark.slow
def test_pip_is_not_that_of_the_working_directory(tmp_path: Path) -> None:
    sprung = trap(tmp_path, "pip")
    found = abiscan(
        "einops==0.7.0",
        cwd=tmp_path,
        PIP_INDEX_URL="http://127.0.0.1:9/simple",
        PIP_CONFIG_FILE=os.devnull,
        PIP_RETRIES="0",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert found.stderr.startswith("abiscan: error: einops==0.7.0: "), found.stderr
    assert not sprung.exists()
    subprocess.run([sys.executable, "-m", "pip"], cwd=tmp_path, check=False)
    assert sprung.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["click", "jinja2", "msgspec", "tomllib"])
def test_what_abiscan_imports_is_not_of_the_working_directory(name: str, tmp_path: Path) -> None:
    sprung = trap(tmp_path, name)
    for module in (False, True):
        found = abiscan(
            "scan", "-f", "html:page.html", str(FIXTURES / "good-extension.so"), cwd=tmp_path, module=module
        )
        assert found.returncode == 0, found.stderr
        assert not sprung.exists()
    subprocess.run([sys.executable, "-m", name], cwd=tmp_path, check=False)
    assert sprung.exists()


def test_a_module_ignores_variables_and_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sprung = trap(tmp_path, "zipfile")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert "usage" in run_module("zipfile", ["-h"]).stdout
    assert not sprung.exists()


def test_workers_that_begin_as_a_new_interpreter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """multiprocessing starts them with `python -c`, which puts the working directory first."""
    sprung = trap(tmp_path, "multiprocessing")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONSAFEPATH", raising=False)
    command = [sys.executable, "-c", "import multiprocessing.spawn"]
    with safe_workers():
        subprocess.run(command, check=True)
    assert not sprung.exists()
    assert "PYTHONSAFEPATH" not in os.environ
    subprocess.run(command, check=False, stderr=subprocess.DEVNULL)
    assert sprung.exists()


@pytest.mark.parametrize("entry", ["", ".", "bin", "bin/.."])
def test_a_tool_is_not_looked_for_from_the_working_directory(
    entry: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "bin").mkdir()
    for place in (tmp_path, tmp_path / "bin"):
        tool = place / "nvidia-smi"
        tool.write_text("#!/bin/sh\necho 9.0\n")
        tool.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", entry)
    assert find_tool("nvidia-smi") is None
    assert find_tool("nvidia-smi", str(tmp_path / "bin")) == str(tmp_path / "bin" / "nvidia-smi")


def test_a_tool_is_named_by_its_absolute_path() -> None:
    with pytest.raises(ValueError, match="absolute"):
        run_tool(["true"])


def test_a_tool_sees_no_variable_of_python_and_no_relative_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONSTARTUP", "x.py")
    monkeypatch.setenv("PATH", os.pathsep.join(["", ".", "/usr/bin", "/bin"]))
    env = find_tool("env")
    assert env is not None
    lines = run_tool([env]).stdout.splitlines()
    assert "PATH=/usr/bin:/bin" in lines
    assert not [line for line in lines if line.startswith("PYTHON")]
