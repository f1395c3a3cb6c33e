"""Which CPython names are part of the stable ABI (https://docs.python.org/3/c-api/stable.html)."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_TABLE = Path(__file__).parents[1] / "data" / "cpython_stable_abi.txt"


@cache
def stable_abi() -> dict[str, str]:
    """Name -> the CPython version in which it joined the stable ABI (`3.2`, `3.13`)."""
    lines = _TABLE.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))


def is_limited(name: str) -> bool:
    """Whether some version of CPython keeps this name in its stable ABI."""
    return name in stable_abi()
