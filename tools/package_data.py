"""Generates `abiscan/data/packages.json`: packages, libraries of the system, facts of a text and inlined calls."""

from __future__ import annotations

import tomllib
from pathlib import Path

import msgspec

from abiscan.diagnosis.catalogue.package_row import PackageCatalogue

FOLDER = Path(__file__).parents[1] / "abiscan" / "diagnosis" / "catalogue"
FILES = ("packages.toml", "libraries.toml", "text_facts.toml", "inlined_calls.toml")
# Members of rows that no program uses.
_UNREAD = ("source", "examples", "others")


def catalogue() -> PackageCatalogue:
    """Every row as the files have it.

    Raises:
        msgspec.ValidationError: a key is unknown or a value is of another type.
    """
    rows: dict[str, object] = {}
    for name in FILES:
        rows |= tomllib.loads((FOLDER / name).read_text(encoding="utf-8"))
    return msgspec.convert(rows, PackageCatalogue)


def render(_current: str) -> str:
    """One line per row, for readable diffs; without sources and examples."""
    rows = catalogue()
    parts = []
    for key in PackageCatalogue.__struct_fields__:
        values = (msgspec.to_builtins(row) for row in getattr(rows, key))
        lines = (msgspec.json.encode({k: v for k, v in row.items() if k not in _UNREAD}).decode() for row in values)
        parts.append(f'"{key}": [\n' + ",\n".join(lines) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"
