"""Generates the tables of passes and of readings in docs/architecture.md from `abiscan.analysis.passes` and
`abiscan.diagnosis.readings.answer_text`."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path

from abiscan.analysis import passes
from abiscan.analysis.passes import PASSES, Pass
from abiscan.diagnosis.readings.answer_text import READINGS


def render(current: str) -> str:
    """The text of the page with the current tables."""
    page = _with_table(current, "passes", ["| pass | purpose | runs |", "| --- | --- | --- |", *map(_row, PASSES)])
    rows = [f"| {number} | {each.name} | {_when(each.when)} |" for number, each in enumerate(READINGS, 1)]
    return _with_table(page, "readings", ["| | reads | runs |", "| --- | --- | --- |", *rows])


def _with_table(page: str, name: str, rows: list[str]) -> str:
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = page.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n" + "\n".join(rows) + f"\n{end}{after}"


def _row(each: Pass) -> str:
    assert passes.__file__ is not None
    source = (Path(passes.__file__).parent / f"{each.name}.py").read_text(encoding="utf-8")
    summary = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0].removesuffix(".")
    return f"| `{each.name}` | {summary} | {_when(each.when)} |"


def _when(condition: Callable[..., bool] | None) -> str:
    return "always" if condition is None else f"if `{condition.__name__}`"
