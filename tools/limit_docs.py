"""Generates the table of limits in SECURITY.md from `limits.toml` and the constants of `abiscan.model.limits`."""

from __future__ import annotations

import tomllib
from pathlib import Path

from abiscan.model import limits

_START, _END = "<!-- limits -->", "<!-- end of limits -->"
_ROWS = Path(__file__).with_name("limits.toml")


def render(current: str) -> str:
    """The text of SECURITY.md with the current table."""
    before, _, rest = current.partition(_START)
    _, _, after = rest.partition(_END)
    rows = ["| limited | to | beyond it |", "| --- | ---: | --- |"]
    for limit in tomllib.loads(_ROWS.read_text(encoding="utf-8"))["limit"]:
        value = _words(getattr(limits, limit["name"]), limit.get("unit", ""))
        rows.append(f"| {limit['of'].format_map(vars(limits))} | {value} | {limit['beyond']} |")
    return f"{before}{_START}\n" + "\n".join(rows) + f"\n{_END}{after}"


def _words(value: int, unit: str) -> str:
    if unit == "bytes":
        for size, name in ((limits.GIB, "GiB"), (limits.MIB, "MiB")):
            if value >= size and value % size == 0:
                return f"{value // size} {name}"
    return f"{value:,} {unit}".strip()
