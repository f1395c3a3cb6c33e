"""Names from real compilers; make.py writes the table."""

from __future__ import annotations

from pathlib import Path


def rows() -> list[tuple[frozenset[str], str]]:
    """(compilers, mangled name) for every name of names.tsv."""
    text = (Path(__file__).parent / "names.tsv").read_text(encoding="utf-8")
    found = []
    for line in text.splitlines():
        compilers, _, name = line.partition("\t")
        found.append((frozenset(compilers.split(",")), name))
    return found
