"""Generates the table of passes in docs/architecture.md from `abiscan.analysis.passes`."""

from __future__ import annotations

import ast
from pathlib import Path

from abiscan.analysis import passes
from abiscan.analysis.passes import PASSES, Pass

_START, _END = "<!-- passes -->", "<!-- end of passes -->"


def render(current: str) -> str:
    """The text of the page with the current table."""
    before, _, rest = current.partition(_START)
    _, _, after = rest.partition(_END)
    rows = ["| pass | purpose | runs |", "| --- | --- | --- |"]
    rows += [_row(each) for each in PASSES]
    return f"{before}{_START}\n" + "\n".join(rows) + f"\n{_END}{after}"


def _row(each: Pass) -> str:
    assert passes.__file__ is not None
    source = (Path(passes.__file__).parent / f"{each.name}.py").read_text(encoding="utf-8")
    summary = (ast.get_docstring(ast.parse(source)) or "").partition("\n")[0].removesuffix(".")
    when = "always" if each.when is None else f"if `{each.when.__name__}`"
    return f"| `{each.name}` | {summary} | {when} |"
