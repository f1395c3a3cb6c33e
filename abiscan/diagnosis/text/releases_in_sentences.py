"""Releases that a sentence proposes, asks about or reports as the solution: another one failed. Former releases: the
failure came later. The words are rows of `catalogue/packages_in_text.toml`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TypeVar

from abiscan.diagnosis.text.text_facts import is_shown, pattern_of

# Characters of a sentence before and behind a release; before and behind it with words about its time.
_BEFORE, _AFTER, _NEAR, _CLAUSE = 96, 192, 24, 64
_Value = TypeVar("_Value")
# A full stop within a version or a name ends no sentence.
_END = re.compile(r"[!?;\n\uff01\uff1f\uff1b\u3002]|\.(?=\s|$)")


def is_proposed(text: str, start: int, end: int) -> bool:
    """Whether the sentence around a release proposes it, asks about it or reports it as the solution.

    Args:
        start: offset of the name of the package; `end`: behind the release.
    """
    return _proposes(text[max(0, start - _BEFORE) : start], text[start:end], text[end : end + _AFTER])


# Logs are repetitive.
@lru_cache(maxsize=2_048)
def _proposes(before: str, release: str, after: str) -> bool:
    ends = [match.end() for match in _END.finditer(before)]
    before = before[ends[-1] if ends else 0 :]
    if is_shown("release_there", before.rstrip(" ")):
        return False
    stop = _END.search(after)
    after = after if stop is None else after[: stop.end()]
    if (
        is_shown("release_asked_before", before.rstrip(" "))
        or pattern_of("release_asked_behind").match(after) is not None
    ):
        return True
    if is_shown("installs", before.rstrip(" ")) and pattern_of("not_installed").match(after) is not None:
        return True
    is_moved = is_shown("moved", before) or is_shown("moved_within", release)
    return is_moved and is_shown("solved", after)


def present_values(text: str, stated: Iterable[tuple[int, int, _Value]]) -> list[_Value]:
    """The releases of one package that are there, of those that a text gives of it.

    Args:
        stated: the offset of the name of the package, the end of the release, and a value for both, in order.
    """
    there = [each for each in stated if not _is_former(text, *each[:2])]
    later = [each for each in there if not _is_former(text, *each[:2], beside_another=True)]
    return [value for _, _, value in later or there]


def _is_former(text: str, start: int, end: int, *, beside_another: bool = False) -> bool:
    """Beside another release the time ("previously") or the success ("it was fine") is enough; one that is alone needs
    both."""
    return _leaves(text[max(0, start - _BEFORE) : start], text[end : end + _CLAUSE], beside_another)


@lru_cache(maxsize=2_048)
def _leaves(before: str, after: str, beside_another: bool) -> bool:
    if is_shown("left_release", before[-_NEAR:]):
        return True
    is_earlier = is_shown("earlier_before", before)
    is_earlier = is_earlier or pattern_of("earlier_behind").match(after) is not None
    worked = pattern_of("worked_behind").match(after) is not None
    return is_earlier or worked if beside_another else is_earlier and worked
