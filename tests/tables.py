"""Rows and texts of a test from a file: the test `test_owner` of `test_owners.py` has the table `owner` of
`data/owners.toml`."""

from __future__ import annotations

import functools
import inspect
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, get_type_hints

import msgspec
import pytest


def data_text(test_file: str, name: str) -> str:
    """The text of a file in the directory `data` beside a test."""
    return (Path(test_file).parent / "data" / name).read_text(encoding="utf-8")


@functools.cache
def _tables(path: Path) -> dict[str, list[dict[str, Any]]]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def table_rows(test: Callable[..., None]) -> pytest.MarkDecorator:
    """Run a test for each row of its table. A key is a parameter of the test, with the type of its signature; where a
    row lacks a key that others have, it is None."""
    path = Path(inspect.getfile(test))
    tables = _tables(path.parent / "data" / f"{path.stem.removeprefix('test_')}.toml")
    table = tables[test.__name__.removeprefix("test_")]
    types = {name: kind for name, kind in get_type_hints(test).items() if any(name in row for row in table)}
    unknown = {key for row in table for key in row} - types.keys()
    assert not unknown, f"{test.__name__} has no parameter for {unknown}"
    rows = [tuple(msgspec.convert(row.get(name), kind) for name, kind in types.items()) for row in table]
    return pytest.mark.parametrize(tuple(types), rows)(test)


def sampled(
    rows: Sequence[Any], ids: Sequence[str] | None = None, mark: pytest.MarkDecorator = pytest.mark.slow
) -> list[Any]:
    """Parameters of a test: one row in 16 in every run, the others with a mark: `-m slow`, or `one_python`."""
    named = zip(rows, ids or [None] * len(rows), strict=True)
    return [
        pytest.param(*(row if isinstance(row, tuple) else (row,)), id=name, marks=() if at % 16 == 0 else mark)
        for at, (row, name) in enumerate(named)
    ]
