"""Numbers and lists of names, in sentences and in order."""

from __future__ import annotations

import re
from collections.abc import Sequence


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 file`, `2 files`, `0 entries`."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def shortened(names: Sequence[str], most: int = 4) -> str:
    """The first names, and the number of the others: `a, b, c, d and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def cut(text: str, longest: int) -> str:
    """The text, or its beginning with an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def size_words(size: float) -> str:
    """The size in words: `4 GiB`, `64 MiB`, `17 bytes`."""
    for unit, words in ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size / unit:.3g} {words}"
    return f"{size:.0f} bytes"


def natural_order(text: str) -> list[tuple[int, int, str]]:
    """A sort key with numbers by value: `2.10` after `2.9`."""
    parts = re.split(r"(\d+)", text)
    return [(1, int(part[:18]), part) if number % 2 else (0, 0, part) for number, part in enumerate(parts)]
