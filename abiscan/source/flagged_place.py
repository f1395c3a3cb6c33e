"""A place that matches a rule's pattern, and the results of refinements."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from abiscan.model.cause import Confidence
from abiscan.rules.rule import Rule, SourcePattern


class FlaggedPlace(Struct, frozen=True):
    """A place in a file that matches a pattern.

    Attributes:
        text: the code at the place, shortened; groups and identifies the findings of a file.
        element: the template argument as written, if any.
        inside: the macro or function whose first argument contains the place, if the pattern requires one.
        at: character offset.
        confidence: overrides that of the rule.
        fields: more template fields.
        variant: distinguishes places with the same text in findings and fingerprints.
        accepted: the reason of a comment that accepts the finding (`inline_ignores.py`).
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
    accepted: str | None = None


class Refined(Struct, frozen=True):
    """Results of a refinement, see `FlaggedPlace`."""

    confidence: Confidence | None = None
    fields: Mapping[str, str] = {}
    variant: str = ""
