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
    vendors = [
        replace(vendor, names=tuple(name for word in vendor.names for name in _expanded(word)))
        for vendor in table.vendors
    ]
    prefixes = {prefix: (place, False) for place, vendor in enumerate(vendors) for prefix in vendor.starts}
    prefixes |= {prefix: (place, True) for place, vendor in enumerate(vendors) for prefix in vendor.capital}
    names = {name: place for place, vendor in enumerate(vendors) for name in vendor.names}
    libraries = {file: place for place, vendor in enumerate(vendors) for file in vendor.files}
    libraries |= {vendor.library: place for place, vendor in reversed(tuple(enumerate(vendors)))}
    rest = {
        "namespaces": table.namespaces,
        "cuda_since": table.cuda_since,
        "distributions": sorted(table.distributions),
        "prefixes": prefixes,
        "names": names,
        "beginnings": sorted({name[:2] for name in (*prefixes, *names)}),
        "lengths": sorted({len(prefix) for prefix in prefixes}, reverse=True),
        "libraries": libraries,
    }
    rows = ",\n".join(msgspec.json.encode(vendor).decode() for vendor in vendors)
    return '{"vendors": [\n' + rows + "\n],\n" + msgspec.json.encode(rest).decode()[1:] + "\n"


def _expanded(name: str) -> list[str]:
    """The names for `{a,b}c`: `ac`, `bc`."""
    parts = (part.split(",") for part in re.split(r"[{}]", name))
    return ["".join(each) for each in itertools.product(*parts)]
