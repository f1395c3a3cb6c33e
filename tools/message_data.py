"""Generates `abiscan/data/messages.json.gz`: the checked message catalogue, as one file for `explain`."""

from __future__ import annotations

from pathlib import Path

import msgspec

from abiscan.diagnosis.catalogue.message_row import Catalogue
from tools.read_catalogue import read_catalogue

# Members of rows that `explain` does not use.
_UNREAD = ("examples", "source")
FOLDER = Path(__file__).parents[1] / "abiscan" / "diagnosis" / "catalogue" / "messages"


def catalogue() -> Catalogue:
    """All rows, with examples.

    Raises:
        InvalidMessage: a file is invalid; the message names the file and the row.
    """
    return read_catalogue(FOLDER)


def render(_current: str) -> str:
    """One line per row, for readable diffs; without examples and sources."""
    rows = catalogue()
    parts = []
    for key in Catalogue.__struct_fields__:
        values = (msgspec.to_builtins(row) for row in getattr(rows, key))
        lines = (msgspec.json.encode({k: v for k, v in row.items() if k not in _UNREAD}).decode() for row in values)
        parts.append(f'"{key}": [\n' + ",\n".join(lines) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"
