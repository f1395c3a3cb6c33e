"""Generates the table of preloaded libraries in `docs/explanation/loader.md` from
`abiscan/data/torch_preloads.json.gz`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from abiscan.environment.preload_sequence import Preload, Preloads
from abiscan.environment.preloads import preload_table

TARGET = Path(__file__).parents[1] / "docs" / "explanation" / "loader.md"
_BEGIN = "<!-- preloads: made by tools/preload_docs.py from abiscan/data/torch_preloads.json.gz -->\n"
_END = "<!-- end of preloads -->\n"


def render(current: str) -> str:
    """The page with the current table.

    Raises:
        ValueError: the page lacks the two comments around the table.
    """
    before, begin, rest = current.partition(_BEGIN)
    _old, end, after = rest.partition(_END)
    if not (begin and end):
        raise ValueError(f"{TARGET.name}: no {_BEGIN.strip()} and {_END.strip()}")
    table = ["| since | always opened, if this is mapped | opened after a failure | searched in |"]
    table += ["| --- | --- | --- | --- |"]
    for version, each in preload_table().rows:
        always = f"`{each.runtime}`: {_names(each.after)}" if each.after else "nothing"
        table.append(f"| {version} | {always} | {_instead(each)} | {_places(each.instead[:1])} |")
    return before + begin + "\n" + "\n".join(table) + "\n\n" + end + after


def _instead(preloads: Preloads) -> str:
    if not preloads.after or [p.patterns for p in preloads.after] != [p.patterns for p in preloads.instead]:
        return _names(preloads.instead)
    optional = " ".join(_names([each]) for each in preloads.instead if not each.required)
    return f"the same, all required but {optional}"


def _names(preloads: Sequence[Preload]) -> str:
    """Libraries in brackets are optional."""
    names = [each.patterns[0].rpartition("/")[2].partition(".so")[0].removeprefix("lib") for each in preloads]
    if preloads and not any(each.required for each in preloads):
        return f"[{' '.join(names)}]"
    pairs = zip(names, preloads, strict=True)
    return " ".join(name if each.required else f"[{name}]" for name, each in pairs) or "nothing"


def _places(preloads: Sequence[Preload]) -> str:
    """The folders of the first library; others have folders named after them."""
    folders = (pattern.rpartition("/")[0] for each in preloads for pattern in each.patterns)
    return ", ".join(f"`{folder.replace('cublas', '*')}`" for folder in folders) or "-"
