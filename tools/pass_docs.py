"""Generates the tables of passes, of readings and of modules of causes in docs/architecture.md."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

from abiscan.analysis import passes
from abiscan.analysis.passes import PASSES, Pass
from abiscan.diagnosis import causes
from abiscan.diagnosis.readings.answer_text import READINGS


def render(current: str) -> str:
    """The text of the page with the current tables."""
    page = _with_table(current, "passes", ["| pass | purpose | runs |", "| --- | --- | --- |", *map(_row, PASSES)])
    rows = [f"| {number} | {each.name} | {_when(each.when)} |" for number, each in enumerate(READINGS, 1)]
    page = _with_table(page, "readings", ["| | reads | runs |", "| --- | --- | --- |", *rows])
    rows = [f"| `{name}` | {_purpose(causes, name)} |" for name in causes.MODULES]
    return _with_table(page, "causes", ["| module | causes: what they explain |", "| --- | --- |", *rows])


def _with_table(page: str, name: str, rows: list[str]) -> str:
    start, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    before, _, rest = page.partition(start)
    _, _, after = rest.partition(end)
    return f"{before}{start}\n" + "\n".join(rows) + f"\n{end}{after}"


def _row(each: Pass) -> str:
    return f"| `{each.name}` | {_purpose(passes, each.name)} | {_when(each.when)} |"


def _purpose(package: ModuleType, module: str) -> str:
    """The first paragraph of the docstring of a module, without the sentences after the first."""
    assert package.__file__ is not None
    source = (Path(package.__file__).parent / f"{module}.py").read_text(encoding="utf-8")
    paragraph = (ast.get_docstring(ast.parse(source)) or "").partition("\n\n")[0]
    return " ".join(paragraph.split()).partition(". ")[0].removesuffix(".")


def _when(condition: Callable[..., bool] | None) -> str:
    return "always" if condition is None else f"if `{condition.__name__}`"
