"""The table of causes in `docs/diagnosis.md`, made of the rows in `abiscan/diagnosis/registry.py`."""

from __future__ import annotations

from pathlib import Path

from abiscan.diagnosis.registry import CAUSES, summary

TARGET = Path(__file__).parents[1] / "docs" / "diagnosis.md"
_BEGIN = "<!-- causes: made by tools/cause_docs.py from abiscan/diagnosis/registry.py -->\n"
_END = "<!-- end of causes -->\n"


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
    rows = [f"| `{row.id}` | {summary(row.id)} | {row.facts} |" for row in CAUSES]
    table = ["| cause | what it says | facts it is read from |", "| --- | --- | --- |", *rows]
    return before + begin + "\n" + "\n".join(table) + "\n\n" + end + after
