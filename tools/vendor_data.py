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
    rows = []
    for vendor in table.vendors:
        names = tuple(name for word in vendor.names for name in _expanded(word))
        rows.append(msgspec.json.encode(replace(vendor, names=names)).decode())
    rest = {"namespaces": table.namespaces, "distributions": sorted(table.distributions)}
    return '{"vendors": [\n' + ",\n".join(rows) + "\n],\n" + msgspec.json.encode(rest).decode()[1:] + "\n"


def _expanded(name: str) -> list[str]:
    """The names for `{a,b}c`: `ac`, `bc`."""
    parts = (part.split(",") for part in re.split(r"[{}]", name))
    return ["".join(each) for each in itertools.product(*parts)]
