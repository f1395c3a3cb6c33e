"""A place that a rule's pattern means, and what a closer look made of it."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from abiscan.model.cause import Confidence
from abiscan.rules.rule import Rule, SourcePattern


class FlaggedPlace(Struct, frozen=True):
    """Where a pattern holds in a file.

    Attributes:
        text: how the place is written, in few words: what findings of a file are grouped and identified by.
        element: the template argument as written, where the place has one.
        inside: the macro or function in whose first argument it stands, where the pattern asks for one.
        at: character offset.
        confidence: where it is not the rule's; fields: more that the templates may name.
        variant: tells findings of places that are written alike and are not the same, in the file and in later runs.
    """

    rule: Rule
    pattern: SourcePattern
    text: str
    element: str | None
    inside: str
    at: int
    confidence: Confidence | None = None
    fields: Mapping[str, str] = {}
    variant: str = ""


class Refined(Struct, frozen=True):
    """What a closer look adds to a place: as in `Place`."""

    confidence: Confidence | None = None
    fields: Mapping[str, str] = {}
    variant: str = ""
