"""Generates `abiscan/data/packages.json` (packages and libraries of the system), `text_facts.json` and
`inlined_calls.json`."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

import msgspec

from abiscan.diagnosis.catalogue.package_row import InlinedCall, PackageCatalogue, TextFact

FOLDER = Path(__file__).parents[1] / "abiscan" / "diagnosis" / "catalogue"
FILES = ("packages.toml", "libraries.toml")
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


def text_facts() -> tuple[TextFact, ...]:
    """Every row of the facts of a text, with its examples.

    Raises:
        msgspec.ValidationError: a key is unknown or a value is of another type.
    """
    rows = tomllib.loads((FOLDER / "text_facts.toml").read_text(encoding="utf-8"))
    return msgspec.convert(rows["text_fact"], tuple[TextFact, ...])


def inlined_calls() -> tuple[InlinedCall, ...]:
    """Every row of the calls that headers inline.

    Raises:
        msgspec.ValidationError: a key is unknown or a value is of another type.
    """
    rows = tomllib.loads((FOLDER / "inlined_calls.toml").read_text(encoding="utf-8"))
    return msgspec.convert(rows["inlined_call"], tuple[InlinedCall, ...])


def render(_current: str) -> str:
    """One line per row, for readable diffs; without sources and examples."""
    rows = catalogue()
    parts = (f'"{key}": {_render_rows(getattr(rows, key))}' for key in PackageCatalogue.__struct_fields__)
    return "{\n" + ",\n".join(parts) + "\n}\n"


def render_text_facts(_current: str) -> str:
    """One line per row, for readable diffs; without examples."""
    return _render_rows(text_facts()) + "\n"


def render_inlined_calls(_current: str) -> str:
    """One line per row, for readable diffs."""
    return _render_rows(inlined_calls()) + "\n"


def _render_rows(rows: Iterable[msgspec.Struct]) -> str:
    values = (msgspec.to_builtins(row) for row in rows)
    lines = (msgspec.json.encode({k: v for k, v in row.items() if k not in _UNREAD}).decode() for row in values)
    return "[\n" + ",\n".join(lines) + "\n]"
