"""tools/new.py in a copy of the repository: its output is clean, works with the generators, is imported and runs."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

import pytest
from msgspec import Struct

from tests.programs import run_program

ROOT = Path(__file__).parents[1]
GOOD = str(ROOT / "tests" / "fixtures" / "good-extension.so")


class Kind(Struct, frozen=True):
    """Tests of the stub `a-thing` of one kind.

    Attributes:
        generated: files that `tools/generate.py` makes from it.
        runs: arguments of abiscan -> expected output.
        passing, failing: tests that pass with the stub, and those that report missing parts.
    """

    generated: tuple[str, ...]
    runs: dict[tuple[str, ...], str]
    passing: tuple[str, ...]
    failing: tuple[str, ...] = ()


_CATALOGUE = "tests/diagnosis/test_cause_catalogue.py::test_"
_MESSAGES = "tests/diagnosis/test_message_catalogue.py::test_"
KINDS = {
    "rule": Kind(
        ("abiscan/data/rules.json", "docs/rules.md", "docs/rules/a-thing.md"),
        {("rules", "a-thing"): "TODO: what is found", (GOOD, "--torch", "2.13.0", "--select", "a-thing"): "loads"},
        ("tests/rules/test_rules.py::test_every_file_is_loaded_and_described",),
    ),
    "cause": Kind(
        (
            "abiscan/data/causes.json.gz",
            "abiscan/data/code_causes.json.gz",
            "docs/diagnosis.md",
            "docs/causes/a-thing.md",
        ),
        {
            ("explain", "a-thing"): "TODO: what is wrong with the file beside the installed torch.",
            ("explain", "_ZN3c104cuda9SetDeviceEi", "--torch", "2.8.0"): "built-for-older-torch, high confidence",
            ("explain", "TODO", "--needed-by", "_C.so", "-v"): "[a-thing, medium confidence]",
        },
        (f"{_CATALOGUE}every_module_of_causes_is_run", f"{_CATALOGUE}the_order_of_the_causes_settles_a_tie"),
        (f"{_CATALOGUE}a_labelled_text_shows_the_cause[a-thing]",),
    ),
    "message": Kind(
        ("abiscan/data/messages.json.gz",),
        {("explain", "error: TODO a-thing: libfoo.so"): "cause: TODO: what the message means for libfoo.so."},
        (
            f"{_MESSAGES}an_example_is_recognised[a-thing-0]",
            f"{_MESSAGES}the_table_is_made_of_the_files",
            f"{_MESSAGES}nothing_of_the_closed_tables_is_unused",
            f"{_MESSAGES}the_files_of_the_repository_are_right",
        ),
    ),
    "format": Kind(
        (),
        {(GOOD, "--torch", "2.13.0", "-f", "a-thing"): "good-extension.so: loads"},
        ("tests/report/test_a_thing.py",),
    ),
    "pass": Kind(("docs/architecture.md",), {(GOOD, "--torch", "2.13.0"): "loads"}, ("tests/analysis/test_passes.py",)),
}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The repository without its fixtures, which no stub needs."""
    for folder in ("abiscan", "docs", "tests", "tools"):
        ignored = shutil.ignore_patterns("__pycache__", "fixtures", "boolean") if folder == "tests" else None
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    (tmp_path / "tests" / "fixtures").mkdir()
    shutil.copy(ROOT / "tests" / "fixtures" / "build.py", tmp_path / "tests" / "fixtures")
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def run(copy: Path, *arguments: str) -> tuple[int, str]:
    done = run_program([sys.executable, *arguments], cwd=copy)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("kind", KINDS)
def test_a_stub_is_imported_and_runs(copy: Path, kind: str) -> None:
    of_kind = KINDS[kind]
    status, printed = run(copy, "tools/new.py", kind, "a-thing")
    assert status == 0, printed
    for check in (["check"], ["format", "--check"]):
        status, printed = run(copy, "-m", "ruff", *check, "abiscan", "tests", "tools")
        assert status == 0, printed
    if of_kind.generated:
        status, printed = run(copy, "tools/generate.py", *of_kind.generated)
        assert status == 0, printed
    for arguments, wanted in of_kind.runs.items():
        status, printed = run(copy, "-m", "abiscan", *arguments)
        assert "Traceback" not in printed
        assert wanted in printed, (status, printed)
    status, printed = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", *of_kind.passing, *of_kind.failing)
    failed = [line.split()[1] for line in printed.splitlines() if line.startswith("FAILED ")]
    assert failed == list(of_kind.failing), printed
    assert "passed" in printed
    assert stubs_left(copy)


def stubs_left(root: Path) -> list[str]:
    """Files with parts of a stub."""
    files = [*(root / "abiscan").rglob("*.py"), *(root / "abiscan").rglob("*.toml"), *(root / "tests").rglob("*.py")]
    left = [path for path in files if "TODO" in path.read_text(encoding="utf-8")]
    return [str(path.relative_to(root)) for path in left if path.name != Path(__file__).name]


def test_no_stub_is_left() -> None:
    assert stubs_left(ROOT) == []


def test_a_second_time_changes_nothing(copy: Path) -> None:
    run(copy, "tools/new.py", "format", "a-thing")
    before = (copy / "abiscan/report/__init__.py").read_text()
    assert run(copy, "tools/new.py", "format", "a-thing") == (1, "abiscan/report/a_thing.py is there already\n")
    assert (copy / "abiscan/report/__init__.py").read_text() == before


def test_a_name_is_words_with_hyphens(copy: Path) -> None:
    assert run(copy, "tools/new.py", "rule", "A_Thing")[0] == 2


@pytest.mark.slow
def test_an_unknown_key_of_a_table_is_one_line(copy: Path) -> None:
    for table, key, made in (
        ("rules/catalogue/const-data-ptr.toml", "severity", "rules.json"),
        ("diagnosis/catalogue/causes/symbol-hidden.toml", "title", "causes.json.gz"),
        ("diagnosis/catalogue/messages/python.toml", "anchors", "messages.json.gz"),
        ("diagnosis/catalogue/packages.toml", "modules", "packages.json.gz"),
    ):
        path = copy / "abiscan" / table
        text = path.read_text("utf-8")
        path.write_text(re.sub(rf"(?m)^{key} =", f"x{key} =", text, count=1), encoding="utf-8")
        status, printed = run(copy, "tools/generate.py", f"abiscan/data/{made}")
        assert (status, printed.count("\n")) == (2, 1), printed
        assert key in printed
        path.write_text(text, encoding="utf-8")
