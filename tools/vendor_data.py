"""`abiscan/data/vendors.json`: owners of C names, libraries and namespaces, as one file that is read at once."""

from __future__ import annotations

import itertools
import re
import tomllib
from pathlib import Path

import msgspec
from msgspec.structs import replace

from abiscan.ownership.vendor_row import VendorTable

_ROWS = Path(__file__).parents[1] / "abiscan" / "ownership" / "vendors.toml"


def render(_current: str) -> str:
    """One line per row, for readable diffs.

    Raises:
        msgspec.ValidationError: a key is unknown or a value is of another type.
    """
    table = msgspec.convert(tomllib.loads(_ROWS.read_text(encoding="utf-8")), VendorTable)
    vendors = (
        replace(each, names=tuple(name for word in each.names for name in _expanded(word))) for each in table.vendors
    )
    lines = (msgspec.json.encode(each).decode() for each in vendors)
    namespaces = msgspec.json.encode(table.namespaces).decode()
    return '{"vendors": [\n' + ",\n".join(lines) + f'\n],\n"namespaces": {namespaces}}}\n'


def _expanded(name: str) -> list[str]:
    """The names for `{a,b}c`: `ac`, `bc`."""
    parts = (part.split(",") for part in re.split(r"[{}]", name))
    return ["".join(each) for each in itertools.product(*parts)]
