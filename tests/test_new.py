"""tools/new.py in a copy of the repository: what it makes is clean, and the tests say what is left."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for folder in ("abiscan", "docs", "tests", "tools"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "loader"))
    # The package's own loader, not the fixtures of that name.
    shutil.copytree(ROOT / "abiscan" / "loader", tmp_path / "abiscan" / "loader")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(copy: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run([sys.executable, *arguments], cwd=copy, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("kind", "tests", "left"),
    [
        (
            "rule",
            [
                "tests/rules/test_rules.py",
                "tests/test_fixtures.py",
                "tests/test_generate.py",
                "-k",
                "well_formed or current or are_of or committed",
            ],
            [
                "a-thing.toml: summary is empty",
                "a-thing.so",  # no fixture is built
                "tests/test_generate.py",  # it is made of the rows, which cannot be read yet
                "test_the_snapshots_are_of_the_fixtures",
            ],
        ),
        ("cause", ["tests/diagnosis/test_a_thing.py"], ["a report that people wrote, and its cause"]),
        ("format", ["tests/report/test_a_thing.py"], ["its own schema, and the hostile names"]),
    ],
)
def test_stubs_are_clean_and_the_tests_say_what_is_left(
    copy: Path, kind: str, tests: list[str], left: list[str]
) -> None:
    status, printed = run(copy, "tools/new.py", kind, "a-thing")
    assert status == 0, printed
    for check in (["check"], ["format", "--check"]):
        status, printed = run(copy, "-m", "ruff", *check, ".")
        assert status == 0, printed
    status, printed = run(
        copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--continue-on-collection-errors", *tests
    )
    assert status == 1, printed
    assert [each for each in left if each not in printed] == []


def test_a_second_time_changes_nothing(copy: Path) -> None:
    run(copy, "tools/new.py", "format", "a-thing")
    before = (copy / "abiscan/report/__init__.py").read_text()
    assert run(copy, "tools/new.py", "format", "a-thing") == (1, "abiscan/report/a_thing.py is there already\n")
    assert (copy / "abiscan/report/__init__.py").read_text() == before


def test_a_name_is_words_with_hyphens(copy: Path) -> None:
    assert run(copy, "tools/new.py", "rule", "A_Thing")[0] == 2
