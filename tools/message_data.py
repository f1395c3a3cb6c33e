"""Generates `abiscan/data/messages.json.gz` and `code_causes.json`: the checked message catalogue as one file for
`explain`, and the rows of causes that code finds as one for every command."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec

from abiscan.diagnosis.catalogue.message_row import Catalogue, CodeCauses
from tools.read_catalogue import read_catalogue, read_code_causes

# Members of rows that `explain` does not use.
_UNREAD = ("examples", "source")
FOLDER = Path(__file__).parents[1] / "abiscan" / "diagnosis" / "catalogue" / "messages"


@functools.cache
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


def code_causes() -> tuple[CodeCauses, ...]:
    """The rows of causes that code finds.

    Raises:
        InvalidMessage: the file is invalid; the message names the row.
    """
    return read_code_causes(FOLDER.parent / "code_causes.toml")


def render_code_causes(_current: str) -> str:
    """One line per row, for readable diffs."""
    unread = ("values", "commands")
    rows = ({k: v for k, v in msgspec.to_builtins(row).items() if k not in unread} for row in code_causes())
    return "[\n" + ",\n".join(msgspec.json.encode(row).decode() for row in rows) + "\n]\n"
