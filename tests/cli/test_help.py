"""The output of `--help`, suggestions for typing errors, and former names of commands and options."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from abiscan.cli.commands import COMMANDS, move_command_first
from abiscan.cli.renamed import FORMER_COMMANDS, rename_words
from abiscan.cli.scan_arguments import GROUPS
from tests.cli.test_cli import FIXTURES, run
from tests.programs import run_abiscan
from tests.tables import table_rows

GOOD = FIXTURES / "good-extension.so"
NAMED = [name for name in COMMANDS if name != "schema"]


def test_the_help_is_one_screen_with_each_summary_whole() -> None:
    """80 columns and 24 lines, as on a VT100; the last line is for the prompt."""
    shown = run("--help", COLUMNS="80").stdout
    assert len(shown.splitlines()) < 24
    rows = re.findall(r"^  (\S+) +(\S.*)$", shown[: shown.index("Examples:")], re.MULTILINE)
    assert [name for name, _ in rows if name in COMMANDS] == NAMED
    summaries = dict(rows)
    assert [name for name in NAMED if summaries[name].endswith("...")] == []
    headings = re.findall(r"^(\w[\w ]*):$", shown, re.MULTILINE)
    assert headings == ["Check files", "Compare and plan", "Look up", "Many wheels"]


@pytest.mark.parametrize("group", [["registry"], ["releases"]], ids=" ".join)
def test_each_command_of_a_group_has_help_of_its_own(group: list[str]) -> None:
    shown = run(*group, "--help", COLUMNS="80").stdout
    commands = re.findall(r"^  (\w+) +\S", shown[shown.index("Commands:") :], re.MULTILINE)
    assert len(commands) >= 2
    for command in commands:
        done = run(*group, command, "--help", COLUMNS="80")
        assert done.stdout.startswith(f"Usage: abiscan {' '.join(group)} {command} ")
        assert max(map(len, done.stdout.splitlines())) <= 80


def test_the_options_of_a_scan_are_in_groups() -> None:
    shown = run("scan", "--help").stdout
    groups = re.split(r"^(\w+):\n", shown, flags=re.MULTILINE)
    found = dict(zip(groups[1::2], groups[2::2], strict=True))
    assert list(found) == ["Target", "Output", "Gate", "More"]
    for group, option in (("Target", "--driver"), ("Output", "--quiet"), ("Gate", "--fail-on"), ("More", "--help")):
        assert f"{option}" in found[group]


def test_the_reference_has_every_option_in_the_groups_of_the_help() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    for group, options in GROUPS.items():
        if not group:
            continue
        start = page.index(f"| {group.lower()} | |\n")
        table = page[start : page.index("\n\n", start)]
        for option in options:
            names = option.names.split()
            assert any(re.search(rf"`{name}[` ]", table) for name in names), option.names


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scna", "x"], "did you mean scan?"),
        (["explian", "_ZN3c105ErrorC2Ev"], "did you mean explain?"),
        (["togehter", "x"], "did you mean compat?"),
        (["Diff", "x", "y"], "did you mean diff?"),
    ],
)
def test_a_slip_of_a_command_gets_a_suggestion(words: list[str], said: str) -> None:
    done = run(*words)
    assert done.returncode == 2
    assert done.stderr.endswith(f"{said}\n")
    assert done.stderr.count("\n") == 1


def test_a_file_or_package_with_the_name_of_a_slip_is_scanned(tmp_path: Path) -> None:
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    site = tmp_path / "env" / "lib" / f"python{version}" / "site-packages"
    (site / "scann").mkdir(parents=True)
    (site / "scann" / "x.so").write_bytes(GOOD.read_bytes())
    (tmp_path / "env" / "pyvenv.cfg").write_text(f"version = {version}.0\n")
    (tmp_path / "env" / "bin").mkdir()
    (tmp_path / "env" / "bin" / "python").symlink_to(sys.executable)
    packaged = run("scann", "--torch", "2.13.0", VIRTUAL_ENV=str(tmp_path / "env"))
    assert packaged.returncode == 0, packaged.stderr
    (tmp_path / "scna").write_bytes(GOOD.read_bytes())
    named = run_abiscan("scna", "--torch", "2.13.0", cwd=tmp_path)
    assert named.returncode == 0, named.stderr


@pytest.mark.parametrize(
    ("words", "now"),
    [
        (["together", "a", "b"], ["compat", "a", "b"]),
        (["dashboard", "d"], ["registry", "dashboard", "d"]),
        (["scan", "d", "-f", "parquet:out"], ["registry", "scan", "d", "-o", "out"]),
        (["d", "-fparquet:out", "-j2"], ["registry", "scan", "d", "-o", "out", "-j2"]),
        (["d", "--format=parquet:out"], ["registry", "scan", "d", "-o", "out"]),
        (["d", "--resume", "out"], ["registry", "scan", "d", "--resume", "out"]),
        (["a.so", "--no-stale"], ["a.so", "--allow-stale"]),
    ],
)
def test_a_former_name_is_the_present_one_and_names_it(
    words: list[str], now: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    others = [name for name in COMMANDS if name != "scan"]
    assert rename_words(words, others) == now
    assert re.fullmatch(r"abiscan: `[^`]+` is now `[^`]+`\n", capsys.readouterr().err)
    assert rename_words(now, others) == now
    assert not capsys.readouterr().err


@pytest.mark.parametrize("words", [["explain", "parquet:x"], ["run", "--", "x", "--no-stale"], ["--", "--no-stale"]])
def test_other_options_are_unchanged(words: list[str]) -> None:
    assert rename_words(words, [name for name in COMMANDS if name != "scan"]) == words


@table_rows
def test_a_command_after_options_is_recognised(words: str, moved: str | None) -> None:
    assert move_command_first(words.split()) == (moved or words).split()


def test_options_before_the_command_are_its_options() -> None:
    before, after = run("--color", "never", "migrate", GOOD), run("migrate", "--color", "never", GOOD)
    assert (before.returncode, before.stdout, before.stderr) == (after.returncode, after.stdout, after.stderr)


def test_a_former_command_answers_as_the_present_one() -> None:
    former, present = run("stable", GOOD), run("migrate", GOOD)
    assert former.stdout == present.stdout
    assert former.returncode == present.returncode
    assert former.stderr == f"abiscan: `stable` is now `migrate`\n{present.stderr}"
    assert set(FORMER_COMMANDS) & set(COMMANDS) == set()
