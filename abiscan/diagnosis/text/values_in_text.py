"""Values that a pattern captures in a text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import re

MOST_PLACES: Final = 20_000
"""Maximum number of places of a pattern in a text; logs are repetitive."""


def captured(match: re.Match[str]) -> str:
    """What the last group with a match captures; without groups, the whole match."""
    return match[match.lastindex or 0]


def only_value(found: Iterable[str]) -> str:
    """The only one of several values; empty for none, and for different ones."""
    different = set(found)
    return different.pop() if len(different) == 1 else ""
