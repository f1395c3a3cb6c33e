"""What each match of a pattern needs: words that are cheap to search for, and characters to begin with.

Reads the parse tree of `re` (re/_parser.py of CPython); of an operation that it does not know it demands nothing."""

from __future__ import annotations

from collections.abc import Iterable
from re import (
    IGNORECASE,
    _compiler,  # type: ignore[attr-defined]
    _parser,  # type: ignore[attr-defined]
)
from re import _constants as opcodes  # type: ignore[attr-defined]
from typing import Any

_WITHOUT_WIDTH = (opcodes.AT, opcodes.ASSERT, opcodes.ASSERT_NOT)
_REPEATS = (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT)
# Equal to a letter of ASCII without regard to case (`_EXTRA_CASES` of re/_casefix.py).
_OTHER_CASES = {"i": "\u0130\u0131", "k": "\u212a", "s": "\u017f"}
_MOST_CHARACTERS = 64


def needed_words(pattern: str, flags: int = 0) -> tuple[str, ...]:
    """Case-folded words of which each match contains one; empty if there are none."""
    return tuple(sorted(_words(_parser.parse(pattern, flags))))


def _words(parsed: Iterable[Any]) -> frozenset[str]:
    best, run = frozenset[str](), ""
    for operation, argument in (*parsed, (None, None)):
        if operation is opcodes.LITERAL:
            run += chr(argument)
            continue
        if operation in _WITHOUT_WIDTH:
            continue
        best, run = _rarer(best, frozenset((run.casefold(),)) if run else frozenset()), ""
        if operation is opcodes.SUBPATTERN:
            best = _rarer(best, _words(argument[3]))
        elif operation in _REPEATS and argument[0] > 0:
            best = _rarer(best, _words(argument[2]))
        elif operation is opcodes.BRANCH:
            branches = [_words(branch) for branch in argument[1]]
            if all(branches):
                best = _rarer(best, _without_longer(frozenset().union(*branches)))
    return best


def _rarer(one: frozenset[str], other: frozenset[str]) -> frozenset[str]:
    """Of two sets of words the one with the longer shortest word; fewer ones if they are equal."""
    return max(one, other, key=lambda words: (min(map(len, words), default=0), -len(words)))


def _without_longer(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if not any(other != word and other in word for other in words))


def with_first_characters(pattern: str, flags: int = 0) -> str:
    """A pattern with the characters that its matches begin with as a condition in front, where `re` does not find them
    itself: behind an assertion, say. It matches the same."""
    parsed = _parser.parse(pattern, flags)
    prefix, _, _ = _compiler._get_literal_prefix(parsed, flags)
    if prefix or _compiler._get_charset_prefix(parsed, flags):
        return pattern
    first = _first(parsed, bool(flags & IGNORECASE))
    if first is None or len(first) > _MOST_CHARACTERS:
        return pattern
    escaped = "".join(f"\\{each}" if each in "\\]^-[&|~" else each for each in sorted(first))
    return f"(?=[{escaped}])(?:{pattern})"


def _first(parsed: Iterable[Any], ignores_case: bool) -> frozenset[str] | None:
    """The characters that a match can begin with; None if they are unknown, or a match can be empty."""
    before = frozenset[str]()
    for operation, argument in parsed:
        if operation in _WITHOUT_WIDTH:
            continue
        is_optional, found = False, None
        if operation is opcodes.LITERAL:
            found = _cases(chr(argument), ignores_case)
        elif operation is opcodes.IN:
            found = _of_class(argument, ignores_case)
        elif operation is opcodes.SUBPATTERN:
            found = _first(argument[3], ignores_case or bool(argument[1] & IGNORECASE))
        elif operation in _REPEATS:
            is_optional, found = argument[0] == 0, _first(argument[2], ignores_case)
        elif operation is opcodes.BRANCH:
            branches = [_first(branch, ignores_case) for branch in argument[1]]
            found = None if None in branches else frozenset().union(*filter(None, branches))
        if found is None:
            return None
        before |= found
        if not is_optional:
            return before
    return None


def _of_class(members: Iterable[Any], ignores_case: bool) -> frozenset[str] | None:
    found = frozenset[str]()
    for operation, argument in members:
        if operation is opcodes.LITERAL:
            found |= _cases(chr(argument), ignores_case)
        elif operation is opcodes.RANGE and argument[1] - argument[0] < _MOST_CHARACTERS:
            found = found.union(*(_cases(chr(each), ignores_case) for each in range(argument[0], argument[1] + 1)))
        else:
            return None
    return found


def _cases(character: str, ignores_case: bool) -> frozenset[str]:
    if not ignores_case:
        return frozenset((character,))
    return frozenset((character, character.lower(), character.upper(), *_OTHER_CASES.get(character.lower(), "")))
