"""`abiscan/data/messages.json`: the catalogue of messages, checked, as one file that `explain` reads at once."""

from __future__ import annotations

from pathlib import Path

import msgspec

from abiscan.diagnosis.catalogue.message_row import Catalogue
from abiscan.diagnosis.catalogue.read_catalogue import read_catalogue

# Of rows; what `explain` has no use for.
_UNREAD = ("examples", "source")
FOLDER = Path(__file__).parents[1] / "abiscan" / "diagnosis" / "catalogue" / "messages"


def catalogue() -> Catalogue:
    """Every row as the files have them, with examples.

    Raises:
        InvalidMessage: a file is wrong; the message names the file and the row.
    """
    return read_catalogue(FOLDER)


def render(_current: str) -> str:
    """One line a row, so that a difference shows which row changed; without examples and sources."""
    rows = catalogue()
    parts = []
    for key in Catalogue.__struct_fields__:
        values = (msgspec.to_builtins(row) for row in getattr(rows, key))
        lines = (msgspec.json.encode({k: v for k, v in row.items() if k not in _UNREAD}).decode() for row in values)
        parts.append(f'"{key}": [\n' + ",\n".join(lines) + "\n]")
    return "{\n" + ",\n".join(parts) + "\n}\n"
