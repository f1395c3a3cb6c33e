"""Generates the table of limits in SECURITY.md from `abiscan.model.limits`."""

from __future__ import annotations

from abiscan.model.limits import GIB, LIMITS, MIB

_START, _END = "<!-- limits -->", "<!-- end of limits -->"


def render(current: str) -> str:
    """The text of SECURITY.md with the current table."""
    before, _, rest = current.partition(_START)
    _, _, after = rest.partition(_END)
    rows = ["| limited | to | beyond it |", "| --- | ---: | --- |"]
    rows += [f"| {limit.of} | {_words(limit.value, limit.unit)} | {limit.beyond} |" for limit in LIMITS]
    return f"{before}{_START}\n" + "\n".join(rows) + f"\n{_END}{after}"


def _words(value: int, unit: str) -> str:
    if unit == "bytes":
        for size, name in ((GIB, "GiB"), (MIB, "MiB")):
            if value >= size and value % size == 0:
                return f"{value // size} {name}"
    return f"{value:,} {unit}".strip()
