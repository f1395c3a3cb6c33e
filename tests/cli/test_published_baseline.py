"""`--baseline-release` with the real pip and a directory as index. The oracle: `--write-baseline` on the old wheel."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.test_fetched import FIXTURES, run
from tests.fixtures.wheels import make_wheel

pytestmark = pytest.mark.slow


def wheel(directory: Path, version: str, *members: str, name: str = "demo") -> Path:
    directory.mkdir(exist_ok=True)
    files = {f"{name}/{member}": member for member in members}
    return make_wheel(directory, files, name=name, version=version, tag="py3-none-manylinux_2_17_x86_64")


@pytest.fixture
def new(tmp_path: Path) -> str:
    """A wheel with a module of releases 1.0 and 1.1, and one that only 1.0 had."""
    wheel(tmp_path / "index", "1.0", "old-string-extension.so", "thc-api.so")
    wheel(tmp_path / "index", "1.1", "old-string-extension.so")
    return str(wheel(tmp_path / "dist", "1.2", "old-string-extension.so", "thc-api.so"))


def failing(folder: Path, *words: str) -> set[str]:
    """The members with findings that fail the run."""
    done = run(folder, *words, "--torch", "2.13.0", "-f", "json")
    document = json.loads(done.stdout)
    found = {a["member"] for a in document["artifacts"] if a["outcome"] == "fails"}
    assert (done.returncode == 1) == bool(found), done.stderr
    return found


def test_findings_of_the_release_pass_and_others_fail(tmp_path: Path, new: str) -> None:
    assert failing(tmp_path, new) == {"demo/old-string-extension.so", "demo/thc-api.so"}
    assert failing(tmp_path, new, "--baseline-release", "1.0") == set()
    assert failing(tmp_path, new, "--baseline-release", "demo==1.1") == {"demo/thc-api.so"}
    # The newest release before 1.2.
    assert failing(tmp_path, new, "--baseline-release", "latest") == {"demo/thc-api.so"}


def test_it_accepts_what_a_written_baseline_accepts(tmp_path: Path, new: str) -> None:
    (old,) = (tmp_path / "index").glob("demo-1.1-*")
    written = str(tmp_path / "baseline.json")
    assert run(tmp_path, str(old), "--torch", "2.13.0", "--write-baseline", written).returncode == 0
    texts = [
        json.loads(run(tmp_path, new, "--torch", "2.13.0", *words, "-f", "json").stdout)["summary"]
        for words in (("--baseline", written), ("--baseline-release", "1.1"))
    ]
    assert texts[0] == texts[1]
    assert texts[0]["suppressed"] > 0


def test_fixed_findings_are_not_stale(tmp_path: Path, new: str) -> None:
    (old,) = (tmp_path / "index").glob("demo-1.1-*")
    done = run(tmp_path, str(old), "--torch", "2.13.0", "--baseline-release", "demo==1.0", "-f", "json")
    assert (done.returncode, json.loads(done.stdout)["stale"]) == (0, [])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("{new}", "--baseline-release", "3.0"), "available are 1.0, 1.1"),
        (("{new}", "--baseline-release", "a b"), "use NAME==VERSION, VERSION or latest"),
        (("{new}", "--baseline-release", "other==latest"), "no wheel of other among the inputs"),
        ((str(FIXTURES / "thc-api.so"), "--baseline-release", "1.0"), "no wheel among the inputs: use NAME==VERSION"),
    ],
)
def test_errors_say_what_to_do(tmp_path: Path, new: str, words: tuple[str, ...], expected: str) -> None:
    done = run(tmp_path, *(word.format(new=new) for word in words), "--torch", "2.13.0")
    assert (done.returncode, expected in done.stderr) == (2, True), done.stderr
