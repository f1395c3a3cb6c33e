"""The table of passes, compared with the reads and writes in the syntax trees of their modules."""

from __future__ import annotations

import ast
import inspect
from importlib import import_module
from pathlib import Path

import pytest

from abiscan.analysis import file_record, passes
from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.passes import PASSES, Pass

FIELDS = tuple(FileRecord.__annotations__)
# The initial fields of a record.
GIVEN = frozenset({"artifact", "context", "part"})


def _attributes(tree: ast.AST, owner: str) -> tuple[set[str], set[str]]:
    """The attributes of the name `owner` that code reads, and those that it writes."""
    read, written = set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == owner:
            (written if isinstance(node.ctx, ast.Store) else read).add(node.attr)
    return read, written


def _properties() -> dict[str, set[str]]:
    """Property of the record -> the fields that it reads, including through other properties."""
    tree = ast.parse(inspect.getsource(file_record))
    record = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "FileRecord")
    direct = {
        node.name: _attributes(node, "self")[0]
        for node in record.body
        if isinstance(node, ast.FunctionDef) and node.name != "__init__"
    }

    def fields(name: str) -> set[str]:
        return {name} if name not in direct else set().union(*(fields(each) for each in direct[name]))

    return {name: fields(name) for name in direct}


PROPERTIES = _properties()


def _fields(read: set[str]) -> set[str]:
    return set().union(*(PROPERTIES.get(name, {name}) for name in read)) - GIVEN


def _called_predicates(tree: ast.AST) -> list[str]:
    called = (n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
    return [name for name in called if inspect.isfunction(getattr(passes, name, None))]


def _read_by_predicates(names: list[str]) -> set[str]:
    read: set[str] = set()
    for name in names:
        tree = ast.parse(inspect.getsource(getattr(passes, name)))
        read |= _attributes(tree, "record")[0]
        names += _called_predicates(tree)
    return _fields(read)


@pytest.mark.parametrize("each", PASSES, ids=lambda each: each.name)
def test_a_pass_reads_and_writes_the_fields_in_its_row(each: Pass) -> None:
    module = import_module(f"abiscan.analysis.passes.{each.name}")
    assert callable(getattr(module, each.name))
    tree = ast.parse(inspect.getsource(module))
    read, written = _attributes(tree, "record")
    assert written == set(each.writes)
    predicates = [*_called_predicates(tree), *([each.when.__name__] if each.when is not None else [])]
    # A pass may read its own output.
    assert (_fields(read) | _read_by_predicates(predicates)) - set(each.writes) == set(each.reads)


def test_no_field_is_read_before_it_is_written_and_none_is_written_twice() -> None:
    written: list[str] = []
    for each in PASSES:
        assert set(each.reads) <= set(written), each.name
        written += each.writes
    assert tuple(written) == FIELDS  # the record declares them in this order


def test_what_a_skipped_pass_leaves_is_complete() -> None:
    for each in PASSES:
        assert set(each.skipped) == (set(each.writes) if each.when is not None else set()), each.name


def test_every_module_of_the_folder_is_a_pass() -> None:
    assert passes.__file__ is not None
    modules = {path.stem for path in Path(passes.__file__).parent.glob("*.py")} - {"__init__"}
    assert modules == {each.name for each in PASSES}
