"""Generates the table of causes in `docs/diagnosis.md`, and a page `docs/causes/ID.md` for each, from
`abiscan/diagnosis/catalogue/causes`."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

from abiscan.report.cause_text import render_markdown
from tools.cause_data import CATALOGUE, causes, read_cause_file

TEXTS = Path(__file__).parents[1] / "tests" / "diagnosis" / "data" / "texts.toml"
TARGET = Path(__file__).parents[1] / "docs" / "diagnosis.md"
_BEGIN = "<!-- causes: made by tools/cause_docs.py from abiscan/diagnosis/catalogue/causes -->\n"
_END = "<!-- end of causes -->\n"
_MADE = "<!-- Made by tools/generate.py from abiscan/diagnosis/catalogue/causes. -->"
# Maximum number of messages on a page.
_EXAMPLES = 3


def pages() -> dict[str, Callable[[str], str]]:
    """File -> function that renders its text."""
    return {f"docs/causes/{path.stem}.md": partial(_page, path) for path in CATALOGUE.glob("*.toml")}


@cache
def _page(path: Path, _current: str) -> str:
    page = read_cause_file(path)
    title, _, rest = render_markdown(page).partition("\n\n")
    lines = [title, "", _MADE, "", rest, ""]
    texts = tomllib.loads(TEXTS.read_text(encoding="utf-8"))["text"].values()
    examples = [each for each in texts if page.id in (each["cause"], each.get("also"))][:_EXAMPLES]
    lines += ["## Error messages", "", "`abiscan explain` gives this cause for:", ""]
    for example in examples:
        # Indented, so that no text can end the block.
        lines += [*(f"    {line}" for line in example["text"].splitlines()), "", "<!-- -->", ""]
    lines += [f"`abiscan explain {page.id}` prints this page. All causes: [diagnosis.md](../diagnosis.md)."]
    return "\n".join(lines) + "\n"


def render(current: str | None = None) -> str:
    """Render the page with the current table.

    Args:
        current: the text of the page; None to read it.

    Raises:
        ValueError: the page lacks the two comments around the table.
    """
    text = TARGET.read_text(encoding="utf-8") if current is None else current
    before, begin, rest = text.partition(_BEGIN)
    _old, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"{TARGET.name}: no {_BEGIN.strip()} and {_END.strip()}")
    rows = [
        f"| [`{page.id}`](causes/{page.id}.md) | {page.title_for()} | {' '.join(page.detection.split())} |"
        for page in causes()
    ]
    table = ["| cause | problem | detected from |", "| --- | --- | --- |", *rows]
    return before + begin + "\n" + "\n".join(table) + "\n\n" + end + after
