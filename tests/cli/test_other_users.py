"""Directories and links of another user: files in them are not used, and nothing is written through them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from abiscan.cli import options
from abiscan.cli.fetched import fetched_directory
from abiscan.cli.output import check_writable, write
from abiscan.errors import AbiscanError, UsageError


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for variable in ("XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(variable, str(tmp_path))
    (tmp_path / "abiscan").mkdir(mode=0o755)
    return tmp_path / "abiscan"


def assert_not_used() -> None:
    assert options.cache_directory() is None
    with pytest.raises(UsageError, match="your release index is not used"):
        options.index_directory()
    with pytest.raises(AbiscanError, match="fetched wheels are not kept there"):
        fetched_directory()


def test_own_directories_are_used(base: Path) -> None:
    assert options.cache_directory() == f"{base}/wheels"
    assert options.index_directory() == f"{base}/releases"
    assert fetched_directory() == f"{base}/fetched"


def test_directories_of_another_user_are_not_used(base: Path, give_away: Callable[[Path], None]) -> None:
    give_away(base)
    assert_not_used()


@pytest.mark.parametrize("mode", [0o777, 0o1777])
@pytest.mark.parametrize("below", [False, True])
def test_directories_of_everybody_are_not_used(base: Path, mode: int, below: bool) -> None:
    for each in [base / name for name in ("wheels", "releases", "fetched")] if below else [base]:
        each.mkdir(exist_ok=True)
        each.chmod(mode)
    assert_not_used()


def test_a_relative_base_is_ignored(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """XDG base directory specification: "All paths set in these environment variables must be absolute"."""
    monkeypatch.chdir(base.parent)
    monkeypatch.setenv("XDG_DATA_HOME", ".")
    monkeypatch.setenv("HOME", "/home/somebody")
    assert options.index_directory() == "/home/somebody/.local/share/abiscan/releases"


def test_an_output_is_not_written_through_a_link_of_another_user(
    tmp_path: Path, give_away: Callable[[Path], None]
) -> None:
    mine, link = tmp_path / "mine", tmp_path / "report.json"
    mine.write_text("mine")
    link.symlink_to(mine)
    write(str(link), "own link")
    assert mine.read_text() == "own link"
    give_away(link)
    for refuse in (lambda: write(str(link), "x"), lambda: check_writable([str(link)])):
        with pytest.raises(UsageError, match="a symbolic link owned by user id"):
            refuse()
    assert mine.read_text() == "own link"
