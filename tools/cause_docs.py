"""The table of causes in `docs/diagnosis.md`, and `docs/causes/ID.md`, a page for each, made of the rows in
`abiscan/diagnosis/registry.py`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from abiscan.diagnosis.registry import CAUSES, CauseRow, summary

TEXTS = Path(__file__).parents[1] / "tests" / "diagnosis" / "data" / "texts.toml"
TARGET = Path(__file__).parents[1] / "docs" / "diagnosis.md"
_BEGIN = "<!-- causes: made by tools/cause_docs.py from abiscan/diagnosis/registry.py -->\n"
_END = "<!-- end of causes -->\n"


def pages() -> dict[str, Callable[[str], str]]:
    """File -> what makes its text."""
    return {f"docs/causes/{row.id}.md": partial(_page, row) for row in CAUSES}


def _page(row: CauseRow, _current: str) -> str:
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))["text"]
    examples = [each for each in texts if each.get("cause") == row.id][:3]
    lines = [f"# {row.id}", "", "<!-- Made by tools/generate.py from abiscan/diagnosis/registry.py. -->", ""]
    lines += [summary(row.id), "", "## What it is read from", "", f"{row.facts[:1].upper()}{row.facts[1:]}.", ""]
    if examples:
        lines += ["## What users see", "", "Texts that `abiscan explain` reads so, of its own tests:", ""]
        for example in examples:
            # Indented, so that no text can end the block.
            lines += [*(f"    {line}" for line in example["text"].splitlines()), ""]
            lines += ["<!-- -->", ""]
    lines += ["## What to do", "", "`abiscan explain` and `abiscan FILE` write the fix for the very file, torch and"]
    lines += [
        f"Python; `abiscan explain {row.id}` prints this page's first lines. All causes:",
        "[diagnosis.md](../diagnosis.md).",
    ]
    return "\n".join(lines) + "\n"


def render(current: str | None = None) -> str:
    """The page with today's table.

    Args:
        current: the page's text; None to read it.

    Raises:
        ValueError: the page has not the two comments between which the table stands.
    """
    text = TARGET.read_text(encoding="utf-8") if current is None else current
    before, begin, rest = text.partition(_BEGIN)
    _old, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"{TARGET.name}: no {_BEGIN.strip()} and {_END.strip()}")
    rows = [f"| [`{row.id}`](causes/{row.id}.md) | {summary(row.id)} | {row.facts} |" for row in CAUSES]
    table = ["| cause | what it says | facts it is read from |", "| --- | --- | --- |", *rows]
    return before + begin + "\n" + "\n".join(table) + "\n\n" + end + after
