"""Every command of docs/how-to/ci.md, dashboards.md and html-page.md, run in a fresh checkout with a wheel in dist.

The wheel loads on torch 2.3.0-2.11.0 (by the ranges of the release index's own tests) and declares 2.4-2.8.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CI, DASHBOARDS, PAGE = (
    (ROOT / "docs" / "how-to" / f"{name}.md").read_text(encoding="utf-8") for name in ("ci", "dashboards", "html-page")
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "dist").mkdir()
    with zipfile.ZipFile(tmp_path / "dist" / "pkg-1.0-cp310-cp310-manylinux_2_28_x86_64.whl", "w") as archive:
        archive.write(ROOT / "tests" / "fixtures" / "gcc-const-data-ptr.so", "pkg/_C.so")
        archive.writestr(
            "pkg-1.0.dist-info/METADATA",
            "Metadata-Version: 2.1\nName: pkg\nVersion: 1.0\nRequires-Dist: torch>=2.4,<2.9\n",
        )
        archive.writestr("pkg-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: cp310-cp310-manylinux_2_28_x86_64\n")
        archive.writestr("pkg-1.0.dist-info/RECORD", "")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "abiscan"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m abiscan "$@"\n')
    command.chmod(0o755)
    who = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    for words in (("init", "-q"), (*who, "commit", "-q", "--allow-empty", "-m", "a")):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def shell(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    environment = {
        "PATH": f"{folder / 'bin'}:/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(ROOT),
        "HOME": str(folder),
        "GITHUB_STEP_SUMMARY": str(folder / "summary"),
    }
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    "script",
    [block for text in (CI, DASHBOARDS, PAGE) for block in (*blocks(text, "sh"), *blocks(text, "bash"))],
    ids=lambda block: block[:30],
)
def test_a_block_of_commands(checkout: Path, script: str) -> None:
    """Each command ends: the wheel may fail, but there is no usage error."""
    for line in script.splitlines():
        if line == "pip install abiscan":
            continue
        done = shell(checkout, line)
        assert done.returncode in (0, 1), (line, done.stderr)
        assert "Traceback" not in done.stderr
        for file in re.findall(r"(?:json|sarif|html|markdown|junit):([\w.-]+)", line):
            assert (checkout / file).stat().st_size > 0


def test_the_first_report_of_a_dashboard_is_written(checkout: Path) -> None:
    done = shell(checkout, blocks(DASHBOARDS, "sh")[0])
    (report,) = (checkout / "reports").iterdir()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d_[0-9a-f]{7,}\.ndjson", report.name), done.stderr


def test_gitlab_passes_a_good_wheel(checkout: Path) -> None:
    (script,) = re.findall(r"^    - (abiscan .*)$", CI, re.MULTILINE)
    done = shell(checkout, script)
    assert done.returncode == 0, done.stdout
    assert (checkout / "abiscan-junit.xml").stat().st_size > 0
    # A range with releases that the file does not load on fails.
    assert shell(checkout, script.replace("<2.9", "<2.13")).returncode == 1


def test_cibuildwheel_checks_the_repaired_wheel(checkout: Path) -> None:
    """A wheel for Python 3.10, which abiscan itself does not support."""
    (repair, installed) = (
        tomllib.loads(block)["tool"]["cibuildwheel"]["linux"]
        for block in blocks(CI, "toml")
        if block.startswith("[tool.cibuildwheel")
    )
    command = repair["repair-wheel-command"][1]
    assert command.startswith("/opt/abiscan/bin/abiscan ")
    assert repair["before-all"] == installed["before-all"]
    done = shell(checkout, command.replace("/opt/abiscan/bin/", "").format(dest_dir="dist"))
    assert done.returncode == 0, done.stdout
