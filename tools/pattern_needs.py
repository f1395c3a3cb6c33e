"""What each match of a pattern needs: words that are cheap to search for, and characters to begin with.

Reads the parse tree of `re` (re/_parser.py of CPython); of an operation that it does not know it demands nothing."""

from __future__ import annotations

from collections.abc import Iterable
from re import (
    ASCII,
    DOTALL,
    IGNORECASE,
    _compiler,  # type: ignore[attr-defined]
    _parser,  # type: ignore[attr-defined]
)
from re import _constants as opcodes  # type: ignore[attr-defined]
from typing import Any, NamedTuple

from abiscan.diagnosis.catalogue.text_fact_row import Need

_WITHOUT_WIDTH = (opcodes.AT, opcodes.ASSERT, opcodes.ASSERT_NOT)
_REPEATS = (opcodes.MAX_REPEAT, opcodes.MIN_REPEAT, opcodes.POSSESSIVE_REPEAT)
# Equal to a letter of ASCII without regard to case (`_EXTRA_CASES` of re/_casefix.py).
_OTHER_CASES = {"i": "\u0130\u0131", "k": "\u212a", "s": "\u017f"}
_MOST_CHARACTERS = 64
_MOST_ALTERNATIVES, _MOST_GROUPS, _MOST_WORDS = 64, 3, 24
_END_OF_LINE = ord("\n")
_WITH_END_OF_LINE = (opcodes.CATEGORY_SPACE, opcodes.CATEGORY_NOT_DIGIT, opcodes.CATEGORY_NOT_WORD)


def needs_of(pattern: str) -> tuple[Need, ...]:
    """Alternatives, of which one holds for each match; empty if there are none."""
    found = _needs(_parser.parse(pattern, ASCII), ASCII)
    if found is None or not all(need.words for need in found):
        return ()
    needs: dict[tuple[tuple[str, ...], ...], tuple[int, int]] = {}
    for words, characters, lines in found:
        key = tuple(tuple(sorted(group)) for group in words)
        most = needs.get(key, (0, 0))
        needs[key] = max(characters, most[0]), max(lines, most[1])
    return tuple(Need(words, *needs[words]) for words in sorted(needs))


class _Found(NamedTuple):
    """Groups of words of which a match has one each, and the most characters and ends of lines that it and the
    assertions beside it read."""

    words: tuple[frozenset[str], ...]
    characters: int
    lines: int


def _needs(parsed: Iterable[Any], flags: int) -> list[_Found] | None:
    """None if a match can have any length."""
    needs, words = [_Found((), 0, 0)], frozenset(("",))
    for operation, argument in (*parsed, (None, None)):
        strings = _strings_of_operation(operation, argument)
        if strings is None and (first := _first_of_repeat(operation, argument)):
            words = _joined(words, first) if len(words) * len(first) <= _MOST_WORDS else words
        if strings is None or len(words) * len(strings) > _MOST_WORDS:
            if "" not in words:
                needs = _both(needs, [_Found((_without_longer(words),), 0, 0)])
            words = strings or frozenset(("",))
        else:
            words = _joined(words, strings)
        if operation is None:
            break
        inner = _needs_of_operation(operation, argument, flags)
        if inner is None:
            return None
        needs = _both(needs, inner if strings is None else [_as_one(inner)._replace(words=())])
    return needs


def _strings_of_operation(operation: Any, argument: Any) -> frozenset[str] | None:
    """The case-folded strings that an operation matches; None if they are many or unknown."""
    if operation in _WITHOUT_WIDTH:
        return frozenset(("",))
    if operation is opcodes.LITERAL:
        # A character that is folded to several is not found in a folded text of the same length.
        return frozenset((chr(argument).casefold(),)) if len(chr(argument).casefold()) == 1 else None
    if operation is opcodes.IN:
        return _any_of([_strings_of_operation(*member) for member in argument])
    if operation is opcodes.SUBPATTERN:
        return _strings(argument[3])
    if operation is opcodes.BRANCH:
        return _any_of(list(map(_strings, argument[1])))
    if operation in _REPEATS and argument[1] == 1:
        inner = _strings(argument[2])
        return inner if argument[0] or inner is None else inner | {""}
    return None


def _first_of_repeat(operation: Any, argument: Any) -> frozenset[str]:
    """The strings of the first of several repetitions, which stand behind those before; empty if it is optional."""
    return (argument[0] and _strings(argument[2])) or frozenset() if operation in _REPEATS else frozenset()


def _strings(parsed: Iterable[Any]) -> frozenset[str] | None:
    strings = frozenset(("",))
    for operation, argument in parsed:
        others = _strings_of_operation(operation, argument)
        if others is None or len(strings) * len(others) > _MOST_WORDS:
            return None
        strings = _joined(strings, others)
    return strings


def _joined(strings: frozenset[str], others: frozenset[str]) -> frozenset[str]:
    return frozenset(one + other for one in strings for other in others)


def _any_of(every: list[frozenset[str] | None]) -> frozenset[str] | None:
    known = [each for each in every if each is not None]
    return frozenset().union(*known) if len(known) == len(every) else None


def _needs_of_operation(operation: Any, argument: Any, flags: int) -> list[_Found] | None:
    if operation in (opcodes.LITERAL, opcodes.NOT_LITERAL, opcodes.ANY, opcodes.IN):
        return [_Found((), 1, int(_is_end_of_line(operation, argument, flags)))]
    if operation is opcodes.AT:
        # The end of the text is no end of the lines that are searched: these have one more.
        return [_Found((), 1, int(argument in (opcodes.AT_END, opcodes.AT_END_STRING)))]
    if operation is opcodes.SUBPATTERN:
        return _needs(argument[3], (flags | argument[1]) & ~argument[2])
    if operation is opcodes.BRANCH:
        branches = [_needs(branch, flags) for branch in argument[1]]
        return None if None in branches else _fewer([need for branch in branches for need in branch or ()])
    if operation in (opcodes.ASSERT, opcodes.ASSERT_NOT) or operation in _REPEATS:
        least, most = (0, 1) if operation not in _REPEATS else argument[:2]
        inner = _needs(argument[-1], flags)
        if inner is None or most is opcodes.MAXREPEAT:
            return None
        one = _as_one(inner)
        return [_Found(one.words if least else (), int(most) * one.characters, int(most) * one.lines)]
    return None


def _both(needs: list[_Found], others: list[_Found]) -> list[_Found]:
    """The needs of two patterns behind each other."""
    if len(needs) * len(others) > _MOST_ALTERNATIVES:
        others = [_as_one(others)]
    return [
        _Found(_rarest((*one.words, *other.words)), one.characters + other.characters, one.lines + other.lines)
        for one in needs
        for other in others or [_Found((), 0, 0)]
    ]


def _fewer(needs: list[_Found]) -> list[_Found]:
    """Those of one group as one."""
    alone = [need for need in needs if len(need.words) == 1]
    return [*(need for need in needs if len(need.words) != 1), *([_as_one(alone)] if alone else ())]


def _as_one(needs: list[_Found]) -> _Found:
    groups = [need.words[0] for need in needs if need.words]
    words = (_without_longer(frozenset().union(*groups)),) if len(groups) == len(needs) else ()
    return _Found(words, max(need.characters for need in needs), max(need.lines for need in needs))


def _rarest(groups: Iterable[frozenset[str]]) -> tuple[frozenset[str], ...]:
    """At most three groups: by the length of their shortest word, longest first, then by their number of words. After
    the first, none with a word of one letter."""
    ordered = sorted(dict.fromkeys(groups), key=lambda words: (-min(map(len, words)), len(words)))
    return tuple(words for words in ordered[:_MOST_GROUPS] if words is ordered[0] or min(map(len, words)) > 1)


def _without_longer(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if not any(other != word and other in word for other in words))


def _is_end_of_line(operation: Any, argument: Any, flags: int) -> bool:
    if operation is opcodes.ANY:
        return bool(flags & DOTALL)
    if operation is not opcodes.IN:
        return (argument == _END_OF_LINE) is (operation is opcodes.LITERAL)
    negated = argument[0][0] is opcodes.NEGATE
    return negated is not any(
        (kind is opcodes.LITERAL and value == _END_OF_LINE)
        or (kind is opcodes.RANGE and value[0] <= _END_OF_LINE <= value[1])
        or (kind is opcodes.CATEGORY and value in _WITH_END_OF_LINE)
        for kind, value in argument
    )


def with_first_characters(pattern: str) -> str:
    """A pattern with the characters that its matches begin with as a condition in front, where `re` does not find them
    itself: behind an assertion, say. It matches the same."""
    parsed = _parser.parse(pattern, ASCII)
    prefix, _, _ = _compiler._get_literal_prefix(parsed, ASCII)
    if prefix or _compiler._get_charset_prefix(parsed, ASCII):
        return pattern
    first = _first(parsed, ignores_case=False)
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
