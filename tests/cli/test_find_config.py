"""The configuration that is used, and those that are ignored because another user may have written them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from abiscan.cli import main
from abiscan.cli.find_config import find_config
from abiscan.errors import UsageError

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
STRANGER = 4242
LENIENT = 'fail-on = "never"\n'
PROJECT = '[tool.abiscan]\nfail-on = "never"\n'
NAMES = {"abiscan.toml": LENIENT, "pyproject.toml": PROJECT}


@pytest.fixture
def below(tmp_path: Path) -> Path:
    path = tmp_path / "a" / "b"
    path.mkdir(parents=True)
    return path


def used(start: Path) -> str | None:
    return find_config(str(start)).path


def ignored(start: Path) -> list[tuple[str, str]]:
    found = find_config(str(start))
    assert found.path is None
    return list(found.ignored)


def test_the_nearest_configuration_counts(tmp_path: Path, below: Path) -> None:
    (tmp_path / "abiscan.toml").write_text("")
    assert used(below) == str(tmp_path / "abiscan.toml")
    # A project without our table does not end the search, nor does an unreadable one.
    (below / "pyproject.toml").write_text("[project]\nname = 'abiscan-user'\n")
    (tmp_path / "a" / "pyproject.toml").write_bytes(b"\xff\xfe")
    assert used(below) == str(tmp_path / "abiscan.toml")
    (below / "pyproject.toml").write_text("[tool.abiscan]\n")
    assert used(below) == str(below / "pyproject.toml")
    (below / "abiscan.toml").write_text("")
    assert used(below) == str(below / "abiscan.toml")


def test_a_broken_project_file_that_names_us_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.abiscan\n")
    with pytest.raises(UsageError, match="not valid TOML"):
        find_config(str(tmp_path))


@pytest.mark.parametrize("name", NAMES)
def test_that_of_another_user_is_not_used(
    tmp_path: Path, below: Path, name: str, give_away: Callable[[Path], None]
) -> None:
    path = tmp_path / name
    path.write_text(NAMES[name])
    owner = STRANGER if os.geteuid() == 0 else os.geteuid()
    give_away(path)
    assert ignored(below) == [(str(path), f"owned by user id {owner}")]


def test_damaged_files_of_another_user_are_ignored(
    tmp_path: Path, below: Path, give_away: Callable[[Path], None]
) -> None:
    for path, content in ((below / "abiscan.toml", b"\xff["), (tmp_path / "pyproject.toml", b"[tool.abiscan\n")):
        path.write_bytes(content)
        give_away(path)
    assert [path for path, _ in ignored(below)] == [str(below / "abiscan.toml"), str(tmp_path / "pyproject.toml")]


@pytest.mark.parametrize("mode", [0o777, 0o1777])
@pytest.mark.parametrize("name", NAMES)
def test_that_above_a_directory_of_everybody_is_not_used(tmp_path: Path, below: Path, mode: int, name: str) -> None:
    (tmp_path / name).write_text(NAMES[name])
    (tmp_path / "a").chmod(mode)
    reason = f"above {tmp_path / 'a'}, which every user can write to"
    assert ignored(below) == [(str(tmp_path / name), reason)]
    assert ignored(tmp_path / "a") == [(str(tmp_path / name), reason)]
    (tmp_path / "a").chmod(0o775)
    assert used(below) == str(tmp_path / name)


@pytest.mark.parametrize("name", NAMES)
def test_that_above_the_repository_is_not_used(tmp_path: Path, below: Path, name: str) -> None:
    (tmp_path / name).write_text(NAMES[name])
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere\n")  # a worktree or submodule
    reason = f"above {tmp_path / 'a'}, the root of the repository"
    assert ignored(below) == [(str(tmp_path / name), reason)]
    (tmp_path / "a" / name).write_text(NAMES[name])
    assert used(below) == str(tmp_path / "a" / name)


def test_a_link_counts_if_no_other_user_can_have_made_it(tmp_path: Path, below: Path) -> None:
    (tmp_path / "shared.toml").write_text(LENIENT)
    (below / "abiscan.toml").symlink_to(tmp_path / "shared.toml")
    assert used(below) == str(below / "abiscan.toml")
    below.chmod(0o1777)
    reason = "a symbolic link in a directory that others can write to"
    assert ignored(below) == [(str(below / "abiscan.toml"), reason)]


def test_the_owner_is_that_of_the_file_that_is_read(
    tmp_path: Path, below: Path, monkeypatch: pytest.MonkeyPatch, give_away: Callable[[Path], None]
) -> None:
    """The file is replaced between stat and open."""
    mine, theirs = below / "abiscan.toml", tmp_path / "theirs"
    for path in (mine, theirs):
        path.write_text(LENIENT)
    give_away(theirs)
    really = os.open

    def swap(path: object, *rest: int, **more: int) -> int:
        if path == str(mine) and theirs.exists():
            os.replace(theirs, mine)
        return really(path, *rest, **more)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(os, "open", swap)
    assert [path for path, _ in ignored(below)] == [str(mine)]


def run(*words: str | Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in ("--torch", "2.9.0", *words)])
    written = capsys.readouterr()
    assert isinstance(stop.value.code, int)
    return stop.value.code, written.out, written.err


FAILS = FIXTURES / "cuda-build-required.so"


def test_the_run_names_what_it_used_and_what_not(
    tmp_path: Path,
    below: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    give_away: Callable[[Path], None],
) -> None:
    monkeypatch.chdir(below)
    status, out, _ = run(FAILS, capsys=capsys)
    assert status == 1
    assert "configuration" not in out
    path = tmp_path / "abiscan.toml"
    path.write_text(LENIENT)
    status, out, err = run(FAILS, "-f", "json", capsys=capsys)
    assert status == 0
    assert f"configuration: {path}" in json.loads(out)["notes"]
    assert f"abiscan: configuration: {path}\n" in err
    assert f"note: configuration: {path}\n" in run(FAILS, capsys=capsys)[1]
    give_away(path)
    status, out, err = run(FAILS, "-f", "json", capsys=capsys)
    assert status == 1
    (note,) = (note for note in json.loads(out)["notes"] if "configuration" in note)
    assert note.startswith(f"configuration not used: {path}: owned by user id ")
    assert note in err
    # A file on the command line is trusted.
    assert run(FAILS, "--config", path, capsys=capsys)[0] == 0


def test_a_baseline_of_another_user_counts_only_where_it_is_named(
    below: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], give_away: Callable[[Path], None]
) -> None:
    monkeypatch.chdir(below)
    assert run(FAILS, "--write-baseline", "known.json", capsys=capsys)[0] == 0
    Path("abiscan.toml").write_text('baseline = "known.json"\n')
    assert run(FAILS, capsys=capsys)[0] == 0
    if os.geteuid() == 0:
        give_away(Path("known.json"))
        status, _, err = run(FAILS, capsys=capsys)
        assert status == 2
        assert "known.json: the baseline is not used: owned by user id 4242" in err
    assert run(FAILS, "--baseline", "known.json", capsys=capsys)[0] == 0
