"""A place that matches a rule's pattern, and the results of refinements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct
from msgspec.structs import replace

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
        accepted: the reason of a comment that accepts the finding (`with_acceptance`).
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


_MARK = "abiscan: ignore["
_COMMENT = ("//", "/*")


def with_acceptance(places: Iterable[FlaggedPlace], text: str) -> Iterator[FlaggedPlace]:
    """Set `accepted` of the places, which are in order, where a comment on the line names the rule.

    A comment on a line of its own is for the next line.
    """
    if _MARK not in text:
        yield from places
        return
    accepted = _accepted_lines(text)
    line, at = 0, 0
    for place in places:
        line += text.count("\n", at, place.at)
        at = place.at
        reason = accepted.get((line, place.rule.id))
        yield place if reason is None else replace(place, accepted=reason)


def _accepted_lines(text: str) -> dict[tuple[int, str], str]:
    """(line from 0, rule) -> reason."""
    accepted: dict[tuple[int, str], str] = {}
    for number, line in enumerate(text.split("\n")):
        before, mark, after = line.partition(_MARK)
        before = before.rstrip()
        if not mark or not before.endswith(_COMMENT):
            continue
        rules, _, reason = after.partition("]")
        reason = reason.partition("*/")[0].strip() or "no reason given"
        for rule in rules.replace(",", " ").split():
            accepted[number if before[:-2].strip() else number + 1, rule] = reason
    return accepted
