"""Tables of Markdown in the pages of causes, as rows for other formats."""

from __future__ import annotations

from collections.abc import Sequence


def read_table(block: str) -> tuple[tuple[str, ...], ...]:
    """The header and the rows of a Markdown table, without its separator line; empty if the block is not a table."""
    lines = block.splitlines()
    if len(lines) < 2 or not all(line.startswith("| ") for line in lines):
        return ()
    rows = (tuple(cell.strip() for cell in line.strip().strip("|").split("|")) for line in lines)
    found = tuple(row for row in rows if not all(cell and not cell.strip("-:") for cell in row))
    return found if len({len(row) for row in found}) == 1 else ()


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """The rows as lines of text with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
