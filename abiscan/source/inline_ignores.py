"""Comments that accept findings where they are: `// abiscan: ignore[RULE, ...] reason`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from abiscan.source.flagged_place import FlaggedPlace

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
