"""Lists of names in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def shortened(names: Sequence[str], most: int = 4) -> str:
    """The first names, and the number of the others: `a, b, c, d and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
