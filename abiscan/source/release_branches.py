"""Branches of a source that the compiler skips, or may skip, with the headers of one torch release."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct

from abiscan.model.versions import order
from abiscan.ownership.torch_declarations import MACROS, Declarations
from abiscan.source.code import Code
from abiscan.source.conditions import MacroFacts, holds

_DIRECTIVE = re.compile(
    r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b((?:[^\n\\]|\\\r?\n|\\.)*)", re.ASCII | re.MULTILINE
)
# Macros in conditions that may distinguish torch releases.
_ON_RELEASE = re.compile(
    r"VERSION|TORCH|PYTORCH|__has_include|_GE_|_LT_|\bTHC?_|\bAT_|\bC10_", re.ASCII | re.IGNORECASE
)
# An include guard, or a macro that is defined unless the headers do.
_GUARD = re.compile(r"[ \t]*#[ \t]*ifndef[ \t]+(\w{1,200})\s{0,200}#[ \t]*define[ \t]+\1\b", re.ASCII)
# Maximum number of branches of one condition, and of characters of each, that are searched for alternatives.
_MAX_BRANCHES = 32
_MAX_BRANCH = 4096


class _Branches(Struct):
    """Places at which the compiled text may change.

    Attributes:
        starts: character offsets.
        seen: whether the text after each is compiled; None if unknown.
        conditions: number of the innermost open condition after each; 0 for none.
    """

    starts: list[int]
    seen: list[bool | None]
    conditions: list[int]


class ReleaseBranches:
    """The text of a file that is compiled with a release.

    Args:
        release: of torch.
    """

    def __init__(self, code: Code, release: str, declared: Declarations) -> None:
        parts = order(release) or (0,)
        names = ("TORCH_VERSION_MAJOR", "TORCH_VERSION_MINOR", "TORCH_VERSION_PATCH")
        values = dict(zip(names, (*parts, 0, 0), strict=False))

        def is_defined(name: str) -> bool | None:
            return True if name in values else declared.declares(MACROS, name, release)

        self._code = code
        self._facts = MacroFacts(is_defined, values)

    @cached_property
    def _branches(self) -> _Branches:
        return _read(self._code, self._facts)

    def compiles(self, offset: int, *, default: bool) -> bool:
        """Whether the text at a character offset is compiled with the release; `default` if a condition on releases is
        unknown."""
        seen = self._branches.seen[bisect_right(self._branches.starts, offset) - 1]
        return default if seen is None else seen

    def alternatives(self, offset: int) -> Iterator[str]:
        """The text of the other branches of the innermost condition around a character offset, without conditions in
        them."""
        starts, conditions = self._branches.starts, self._branches.conditions
        own = bisect_right(starts, offset) - 1
        condition = conditions[own]
        if not condition:
            return
        at = bisect_left(self._order, (condition, 0))
        for number, start in self._order[at : at + _MAX_BRANCHES]:
            if number != condition:
                return
            if start != own:
                end = starts[start + 1] if start + 1 < len(starts) else len(self._code.text)
                yield self._code.text[starts[start] : min(end, starts[start] + _MAX_BRANCH)]

    @cached_property
    def _order(self) -> list[tuple[int, int]]:
        """Number of a condition, and index of a start in it."""
        return sorted((number, start) for start, number in enumerate(self._branches.conditions))


def _read(code: Code, facts: MacroFacts) -> _Branches:
    found = _Branches([0], [True], [0])
    # For each open condition: whether its current branch is compiled, whether an earlier one was, and whether the
    # enclosing branch is; and its number.
    branches: list[tuple[bool | None, bool | None, bool | None]] = []
    numbers: list[int] = []
    count = 0
    for match in _DIRECTIVE.finditer(code.text):
        if not code.is_in_directive(match.start(1)):
            continue  # in a comment
        keyword = match[1]
        if keyword in ("if", "ifdef", "ifndef"):
            state = _of_release(code, keyword, match.span(2), facts)
            if state[0] is None and _GUARD.match(code.text, match.start()):
                state = True, False
            branches.append((*state, found.seen[-1]))
            count += 1
            numbers.append(count)
        elif not branches:
            continue
        elif keyword == "endif":
            branches.pop()
            numbers.pop()
        else:
            _now, before, around = branches[-1]
            now, holds_now = (True, True) if keyword == "else" else _of_release(code, "if", match.span(2), facts)
            if before is not False and now is not False:
                now = None if before is None else False
            branches[-1] = (
                now,
                True if True in (before, holds_now) else None if None in (before, holds_now) else False,
                around,
            )
        found.starts.append(match.end())
        found.conditions.append(numbers[-1] if numbers else 0)
        states = (branches[-1][0], branches[-1][2]) if branches else ()
        found.seen.append(False if False in states else None if None in states else True)
    return found


def _of_release(
    code: Code, keyword: str, condition: tuple[int, int], facts: MacroFacts
) -> tuple[bool | None, bool | None]:
    """Whether the branch of a condition is compiled with the headers of a release, and whether its `#else` is then
    skipped. For conditions without releases, both branches may be compiled.

    Args:
        condition: its first character offset, and the one behind it.
    """
    found = holds(keyword, code.every_token.between(*condition), facts)
    return (found, found) if found is not None or _ON_RELEASE.search(code.text, *condition) else (True, False)
