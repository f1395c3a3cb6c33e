"""Exported names that are nearly a given one: a name that was typed from a screenshot, or lost a letter."""

from __future__ import annotations

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.mangling import NameKind, classify

# Names that are compared letter by letter, and how many of the nearest are told.
_COMPARED, _TOLD = 1_500, 2
# How alike two names must be, from 0 to 1: one letter in thirty differs.
_ALIKE = 0.96
_SHORTEST, _LONGEST = 8, 512
# A slip is mended by a look-up, without comparing: so many letters behind it must agree.
_BEHIND = 8
_LETTERS = "0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def near(name: str, knowledge: Knowledge) -> tuple[str, ...]:
    """The exported names that differ from a C++ or C name of torch by a slip of the hand, the nearest first."""
    releases = knowledge.releases
    if releases is None or not _SHORTEST <= len(name) <= _LONGEST or classify(name) not in (NameKind.CXX, NameKind.C):
        return ()
    # The slip stands behind the longest beginning that some exported name has too.
    low, high = 0, len(name)
    while low < high:
        middle = (low + high + 1) // 2
        if releases.prefix(name[:middle], knowledge.machine, 1):
            low = middle
        else:
            high = middle - 1
    if low < 4:
        return ()
    from difflib import SequenceMatcher

    found: dict[str, float] = {}
    beginnings = [*_mended(name, low), *(name[:length] for length in (low, max(4, low - 2), max(4, low - 6)))]
    for beginning in beginnings:
        for history in releases.prefix(beginning, knowledge.machine, _COMPARED):
            other = history.name
            if other in found or abs(len(other) - len(name)) > 3:
                continue
            matcher = SequenceMatcher(None, other, name, autojunk=False)
            found[other] = matcher.ratio() if matcher.quick_ratio() >= _ALIKE else 0.0
    best = sorted((item for item in found.items() if item[1] >= _ALIKE), key=lambda item: (-item[1], item[0]))
    return tuple(other for other, _ratio in best[:_TOLD])


def _mended(name: str, at: int) -> list[str]:
    """Beginnings that one letter more, one less or another letter at the slip gives."""
    behind = name[at : at + _BEHIND]
    if len(behind) < _BEHIND:
        return []
    less = [name[:at] + name[at + 1 : at + 1 + _BEHIND]]
    more = [name[:at] + letter + behind for letter in _LETTERS]
    return less + more + [name[:at] + letter + name[at + 1 : at + 1 + _BEHIND] for letter in _LETTERS]
