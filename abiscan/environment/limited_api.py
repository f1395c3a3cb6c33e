"""CPython's stable ABI (https://docs.python.org/3/c-api/stable.html)."""

from __future__ import annotations

from functools import cache

from abiscan.data import data_file

_TABLE = data_file("cpython_stable_abi.txt")

STABLE_ABI_LIBRARIES = ("python3.dll", "python3t.dll")
"""The libraries of CPython for Windows that export the stable ABI only."""


@cache
def stable_abi() -> dict[str, str]:
    """Map each name of the stable ABI to the CPython version that added it (`3.2`, `3.13`)."""
    with open(_TABLE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
