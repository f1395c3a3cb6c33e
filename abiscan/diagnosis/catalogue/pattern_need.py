"""What the matches of a pattern have, by which a text without them is not searched (`tools/pattern_needs.py`)."""

# Annotations are not postponed: msgspec would compile each of them before it reads the first value.
from msgspec import Struct


class Need(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, array_like=True):
    """What a match of a pattern has.

    Attributes:
        words: groups of case-folded words; it contains one of each.
        characters: most that it and what decides about it beside it have.
        lines: most ends of lines that these have.
    """

    words: tuple[tuple[str, ...], ...]
    characters: int
    lines: int
