"""SECURITY.md and the code: its tests exist, and it lists every child process and every written file."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from tests.tables import table_rows

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "SECURITY.md").read_text()
STARTS = {"run_tool", "run_module", "start_command", "ProcessPoolExecutor", "ProcessPool", "Popen"}
WRITES = {
    *("write_text", "write_bytes", "mkdir", "makedirs", "extract", "extractall", "ParquetWriter", "symlink", "link"),
    *("mkstemp", "mkdtemp", "TemporaryFile", "NamedTemporaryFile", "SpooledTemporaryFile", "TemporaryDirectory"),
}
# `replace` is also a method of strings and values.
OS_WRITES = {"replace", "rename", "unlink", "remove", "truncate", "mkfifo"}
OS_STARTS = {"fork", "system", "execv", "posix_spawn"}


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows(title: str) -> list[list[str]]:
    """The rows of the table in a section, as cells."""
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def is_of_os(node: ast.Call) -> bool:
    module = getattr(node.func, "value", None)
    return isinstance(module, ast.Name) and module.id == "os"


def starts_a_process(node: ast.Call) -> bool:
    return called(node) in STARTS or (called(node) in OS_STARTS and is_of_os(node))


def writes(node: ast.Call) -> bool:
    name = called(node)
    if name in OS_WRITES:
        return is_of_os(node)
    if name != "open":
        return name in WRITES
    words = [each for part in (*node.args, *node.keywords) for each in ast.walk(part)]
    modes = {each.value for each in words if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    flags = {each.attr for each in words if isinstance(each, ast.Attribute)}
    return bool(flags & {"O_CREAT", "O_WRONLY", "O_RDWR"}) or any(
        re.fullmatch("[rwaxbt+]*[wax+][bt+]*", m) for m in modes
    )


@pytest.fixture(scope="module")
def calls() -> dict[str, list[ast.Call]]:
    """Every call of each module."""
    folder = ROOT / "abiscan"
    trees = {path.relative_to(folder).as_posix(): ast.parse(path.read_text()) for path in folder.rglob("*.py")}
    return {name: [node for node in ast.walk(tree) if isinstance(node, ast.Call)] for name, tree in trees.items()}


def listed(title: str) -> set[str]:
    return {name for row in rows(title) for name in re.findall(r"`([\w/]+\.py)`", row[-1])}


@pytest.mark.parametrize("row", rows("Tests of the guarantees"), ids=lambda row: row[0])
def test_the_tests_of_a_guarantee_are_there(row: list[str]) -> None:
    names = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row[1])
    assert names
    for path, name in names:
        tree = ast.parse((ROOT / path).read_text())
        # Collected by pytest: functions `test_*` in modules `test_*.py`.
        assert Path(path).name.startswith("test_")
        assert name.startswith("test_")
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, f"{path}::{name}"


def test_every_guarantee_has_a_row() -> None:
    guarantees = re.findall(r"^- \*\*(.+?)[.:]?\*\*", section("Guarantees"), re.MULTILINE)
    assert guarantees == [*dict.fromkeys(row[0].partition(": ")[0] for row in rows("Tests of the guarantees"))]


def test_every_child_process_is_listed(calls: dict[str, list[ast.Call]]) -> None:
    assert listed("Child processes") == {name for name, nodes in calls.items() if any(map(starts_a_process, nodes))}


def test_every_written_file_is_listed(calls: dict[str, list[ast.Call]]) -> None:
    assert listed("Files that are written") == {name for name, nodes in calls.items() if any(map(writes, nodes))}


@table_rows
def test_a_place_of_writing_is_found(line: str, expected: bool) -> None:
    node = ast.parse(line).body[0]
    assert isinstance(node, ast.Expr)
    assert isinstance(node.value, ast.Call)
    assert writes(node.value) is expected
