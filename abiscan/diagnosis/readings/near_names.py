"""Finds exported names similar to a given one, which has a typing error or lost a letter."""

from __future__ import annotations

import re
from collections.abc import Iterator

from abiscan.diagnosis.knowledge import Knowledge
from abiscan.environment import python_names
from abiscan.mangling import NameKind, classify, parse

# Maximum number of names that are compared by letters, and of results.
_COMPARED, _MAX_RESULTS = 1_500, 2
# Minimum similarity of two names, from 0 to 1: one letter in thirty differs.
_ALIKE = 0.96
_SHORTEST, _LONGEST = 8, 512
# Number of letters after a typing error that must agree for a correction by look-up.
_BEHIND = 8
_LETTERS = "0123456789_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def near(name: str, knowledge: Knowledge) -> tuple[str, ...]:
    """Exported names that differ from a C++ or C name of torch by a typing error, most similar first."""
    releases = knowledge.releases
    if releases is None or not _SHORTEST <= len(name) <= _LONGEST or classify(name) not in (NameKind.CXX, NameKind.C):
        return ()
    # The error is after the longest prefix that some exported name shares.
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
        for other in releases.prefix(beginning, knowledge.machine, _COMPARED):
            if other in found or abs(len(other) - len(name)) > 3:
                continue
            matcher = SequenceMatcher(None, other, name, autojunk=False)
            found[other] = matcher.ratio() if matcher.quick_ratio() >= _ALIKE else 0.0
    best = sorted((item for item in found.items() if item[1] >= _ALIKE), key=lambda item: (-item[1], item[0]))
    return tuple(other for other, _ratio in best[:_MAX_RESULTS])


def with_one_word_misspelt(name: str, knowledge: Knowledge) -> tuple[str, ...]:
    """Of the names similar to a C++ name, those that differ only in the letters of one identifier; parameters of
    another release differ in more or less."""
    words = _WORD.findall(_read(name))
    found = []
    for other in near(name, knowledge):
        theirs = _WORD.findall(_read(other))
        pairs = [(mine, their) for mine, their in zip(words, theirs, strict=False) if mine != their]
        if len(words) == len(theirs) and len(pairs) == 1 and min(map(len, pairs[0])) >= _SHORTEST_WORD:
            mine, their = pairs[0]
            if mine.lower() != their.lower() and _ratio(mine, their) >= _ALIKE_PART:
                found.append(other)
    return tuple(found)


_WORD = re.compile(r"\w+")
_SHORTEST_WORD = 6
# Minimum similarity of identifiers in a qualified name, and their minimum length: shorter ones differ on purpose.
_ALIKE_PART, _SHORTEST_PART = 0.8, 4
_QUALIFIERS = ("", "K")
_PARTS = 8


def near_of_entity(parts: tuple[str, ...], text: str, knowledge: Knowledge) -> tuple[str, ...]:
    """The exported functions with a scope or base similar to one of `parts`; of overloads, the one most similar to
    `text`. The typing error is after the first two letters."""
    if knowledge.releases is None or not 2 <= len(parts) <= _PARTS:
        return ()
    found: dict[tuple[str, ...], list[str]] = {}
    for at, part in enumerate(parts):
        if len(part) < _SHORTEST_PART:
            continue
        alike: dict[str, bool] = {part: False}
        for name, identifier in _beginning_so(parts[:at], part, knowledge):
            if identifier not in alike:
                alike[identifier] = _ratio(identifier, part) >= _ALIKE_PART
            parsed = parse(name) if alike[identifier] else None
            other = () if parsed is None else (*parsed.scope, parsed.base)
            if len(other) == len(parts) and other[at + 1 :] == parts[at + 1 :]:
                found.setdefault(other, []).append(name)
    nearest = sorted(found, key=lambda other: (-_ratio("::".join(other), "::".join(parts)), other))
    return tuple(
        max(sorted(found[other]), key=lambda name: _ratio(_read(name), text)) for other in nearest[:_MAX_RESULTS]
    )


def _beginning_so(scope: tuple[str, ...], part: str, knowledge: Knowledge) -> Iterator[tuple[str, str]]:
    """Exported names in a scope whose next part has the same beginning and similar length, with that part."""
    assert knowledge.releases is not None
    before = "".join(f"{len(each)}{each}" for each in scope)
    for qualifiers in _QUALIFIERS:
        for length in range(len(part) - 2, len(part) + 3):
            prefix = f"_ZN{qualifiers}{before}{length}{part[:2]}"
            for name in knowledge.releases.prefix(prefix, knowledge.machine, _COMPARED):
                yield name, name[len(prefix) - 2 :][:length]


def _read(name: str) -> str:
    parsed = parse(name)
    return name if parsed is None else parsed.display


def _ratio(one: str, other: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other, autojunk=False).ratio()


def near_of_python(name: str) -> tuple[str, ...]:
    """Functions of CPython's C API that are similar to a name which none exports."""
    from difflib import get_close_matches

    begins = re.match(r"_?Py[A-Z]?[a-z]+", name)
    if begins is None or python_names.exported_by(name):
        return ()
    alike = [other for other in python_names.names() if other.startswith(begins[0])]
    return tuple(get_close_matches(name, alike, n=_MAX_RESULTS, cutoff=0.93))


def _mended(name: str, at: int) -> list[str]:
    """Prefixes with one letter inserted, removed or replaced at the error."""
    behind = name[at : at + _BEHIND]
    if len(behind) < _BEHIND:
        return []
    less = [name[:at] + name[at + 1 : at + 1 + _BEHIND]]
    more = [name[:at] + letter + behind for letter in _LETTERS]
    return less + more + [name[:at] + letter + name[at + 1 : at + 1 + _BEHIND] for letter in _LETTERS]
