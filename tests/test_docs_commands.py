"""Every command of docs/how-to/ci.md, dashboards.md and html-page.md, run in a fresh checkout with a wheel in dist.

The wheel loads on torch 2.3.0-2.11.0 (by the ranges of the release index's own tests) and declares 2.4-2.8.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from junitparser import JUnitXml

from tests.fixtures.wheels import make_wheel
from tests.programs import run_program

ROOT = Path(__file__).parents[1]
CI, DASHBOARDS, PAGE = (
    (ROOT / "docs" / "how-to" / f"{name}.md").read_text(encoding="utf-8") for name in ("ci", "dashboards", "html-page")
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "dist").mkdir()
    members, tag = {"pkg/_C.so": "gcc-const-data-ptr.so"}, "cp310-cp310-manylinux_2_28_x86_64"
    make_wheel(tmp_path / "dist", members, tag=tag, requires="torch>=2.4,<2.9")
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
    return run_program(["bash", "-c", script], cwd=folder, env=environment)


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


class Job(NamedTuple):
    """A documented job: its script, and the files that the server collects."""

    script: str
    reports: list[str]
    pages: list[str]


def gitlab() -> Job:
    (job,) = [found["abiscan"] for block in blocks(CI, "yaml") if "abiscan" in (found := yaml.safe_load(block))]
    artifacts = job["artifacts"]
    assert artifacts["when"] == "always"
    return Job("\n".join(job["script"]), [artifacts["reports"]["junit"]], artifacts["paths"])


def jenkins() -> Job:
    (text,) = blocks(CI, "groovy")
    assert text.count("{") == text.count("}")
    (script,) = re.findall(r"sh '''\n(.*?)'''", text, re.DOTALL)
    post = text[text.index("always {") :]
    return Job(script, re.findall(r"junit '(.*)'", post), re.findall(r"archiveArtifacts '(.*)'", post))


def azure() -> Job:
    (steps,) = [found["steps"] for block in blocks(CI, "yaml") if "steps" in (found := yaml.safe_load(block))]
    (script,) = [step["script"] for step in steps if "script" in step]
    later = [step for step in steps if "task" in step or "publish" in step][1:]
    assert {step["condition"] for step in later} == {"succeededOrFailed()"}
    reports = [step["inputs"]["testResultsFiles"] for step in later if step.get("task") == "PublishTestResults@2"]
    return Job(script, reports, [step["publish"] for step in later if "publish" in step])


@pytest.mark.parametrize("server", [gitlab, jenkins, azure])
def test_jobs_of_other_servers(checkout: Path, server: Callable[[], Job]) -> None:
    """As a runner does: one shell, which ends at the first error. pip and `python3 -m venv` are replaced: the package
    is not on an index. junitparser reads the report like the servers."""
    job = server()
    (checkout / "bin" / "pip").write_text('#!/bin/sh\n[ "$1" = install ] && [ "$2" = abiscan ]\n')
    (checkout / "bin" / "python3").write_text('#!/bin/sh\nmkdir "$3" && cp -r "${0%/*}" "$3/bin"\n')
    for name in ("pip", "python3"):
        (checkout / "bin" / name).chmod(0o755)
    done = shell(checkout, f"set -e\n{job.script}")
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = job.reports
    cases = [case for suite in JUnitXml.fromfile(str(checkout / report)) for case in suite]
    assert cases
    assert not any(case.is_failure or case.is_error for case in cases)
    assert all((checkout / page).stat().st_size > 0 for page in job.pages)
    # A range with releases that the file does not load on fails.
    assert job.pages
    assert shell(checkout, "rm -rf .abiscan\nset -e\n" + job.script.replace("<2.9", "<2.13")).returncode == 1
    cases = [case for suite in JUnitXml.fromfile(str(checkout / report)) for case in suite]
    assert any(case.is_failure for case in cases)


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
