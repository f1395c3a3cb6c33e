"""Leaves out the releases that a sentence reports of the past: the failure came later. The words are rows of
`catalogue/packages_in_text.toml`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from abiscan.diagnosis.text.text_facts import is_shown, pattern_of

_BEFORE, _NEAR, _AFTER = 96, 24, 64  # characters
_Value = TypeVar("_Value")


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
    if is_shown("left_release", text[max(0, start - _NEAR) : start]):
        return True
    after = text[end : end + _AFTER]
    is_earlier = is_shown("earlier_before", text[max(0, start - _BEFORE) : start])
    is_earlier = is_earlier or pattern_of("earlier_behind").match(after) is not None
    worked = pattern_of("worked_behind").match(after) is not None
    return is_earlier or worked if beside_another else is_earlier and worked
