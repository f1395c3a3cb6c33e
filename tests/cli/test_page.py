"""`-f html` and `--history` on the command line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.programs import run_abiscan

FIXTURES = Path(__file__).parents[1] / "fixtures"
GOOD = str(FIXTURES / "good-extension.so")


def run(*given: str) -> tuple[int, str]:
    done = run_abiscan("scan", "--torch", "2.13.0", "-q", *given)
    return done.returncode, done.stderr


def test_the_page_has_every_release_without_matrix(tmp_path: Path) -> None:
    page, report = tmp_path / "a.html", tmp_path / "a.json"
    assert run(GOOD, "-f", f"html:{page}", "-f", f"json:{report}")[0] == 0
    judged = json.loads(report.read_text())["artifacts"][0]["releases"]
    cells = re.findall(r'<td class="cell c-([a-z-]+)', page.read_text())
    # Oracle for the cells: the JSON of the same run.
    assert cells == ["drift" if r["state"] == "loads" and r["drift"] else r["state"] for r in judged]
    assert {"loads", "fails"} <= set(cells)


def test_earlier_runs_are_shown_with_this_one(tmp_path: Path) -> None:
    history = tmp_path / "history"
    history.mkdir()
    page = tmp_path / "a.html"
    assert run(GOOD, "--matrix", "-f", f"json:{history / '2026-01.json'}")[0] == 0
    assert run(GOOD, "--history", str(history), "-f", f"html:{page}")[0] == 0
    text = page.read_text()
    assert ">2026-01</th>" in text
    assert ">now</th>" in text


def test_before_the_first_run_there_is_no_earlier_one(tmp_path: Path) -> None:
    """The command of docs/how-to/html-page.md in its first run."""
    history = tmp_path / "history"
    history.mkdir()
    page = tmp_path / "a.html"
    words = ("-f", f"json:{history / '2026-01.json'}", "-f", f"html:{page}", "--history", str(history))
    status, said = run(GOOD, *words)
    assert status == 0
    assert f"--history {history}: no *.json in it; the page will have no trends" in said
    assert 'id="trends"' not in page.read_text()
    status, said = run(GOOD, *words)
    assert (status, "no trends" in said) == (0, False)
    assert 'id="trends"' in page.read_text()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("--history", "nowhere", "-f", "html:a.html"), "--history nowhere: No such file or directory"),
        (("--history", "."), "--history needs -f html:FILE"),
    ],
)
def test_a_history_that_is_none(
    given: tuple[str, ...], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    status, output = run(GOOD, *given)
    assert status == 2
    assert re.fullmatch(rf"abiscan: error: {said}\n", output)
    assert list(tmp_path.iterdir()) == []
