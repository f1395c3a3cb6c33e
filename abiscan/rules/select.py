"""Finds candidate imports of a pattern by text search, so that few names are parsed.

A file has thousands of imports, and parsing one takes a tenth of a millisecond. Every mangled name of `a::b` contains
`1b` (<source-name> ::= <length> <identifier>), or in Microsoft mangling `b@`, so a search for that text in all names
misses none. The parsed name then decides."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate

from abiscan.model.imports import CheckedImport, Owner, Status
from abiscan.rules.rule import ImportPattern


class Imports:
    """The imports of one file, with indices for the search."""

    def __init__(self, imports: tuple[CheckedImport, ...]) -> None:
        self.all = imports

    @cached_property
    def _text(self) -> str:
        # No name contains NUL, which ends a string in the file.
        return "\0" + "\0".join(imported.symbol.name for imported in self.all) + "\0"

    @cached_property
    def _starts(self) -> list[int]:
        return list(accumulate((len(imported.symbol.name) + 1 for imported in self.all), initial=1))

    @cached_property
    def _by_status(self) -> dict[Status, list[CheckedImport]]:
        groups: dict[Status, list[CheckedImport]] = {}
        for imported in self.all:
            groups.setdefault(imported.status, []).append(imported)
        return groups

    @cached_property
    def _by_owner(self) -> dict[Owner, list[CheckedImport]]:
        groups: dict[Owner, list[CheckedImport]] = {}
        for imported in self.all:
            groups.setdefault(imported.owner, []).append(imported)
        return groups

    def _search(self, needles: Iterable[str]) -> list[CheckedImport]:
        text, starts = self._text, self._starts
        found: set[int] = set()
        for needle in needles:
            at = text.find(needle)
            while at >= 0:
                # A match that begins with NUL belongs to the next name.
                index = bisect_right(starts, at + (needle[0] == "\0")) - 1
                found.add(index)
                # Continue after this name: one match is sufficient.
                at = text.find(needle, starts[index + 1] - 1)
        return [self.all[index] for index in sorted(found)]

    def _search_identifiers(self, identifiers: list[str]) -> list[CheckedImport]:
        needles = [f"{len(each)}{each}" for each in identifiers]
        if "\0?" in self._text:
            needles += [f"{each}@" for each in identifiers]
        return self._search(needles)

    def candidates(self, pattern: ImportPattern) -> Iterable[CheckedImport]:
        """A superset of the matches of a pattern, in the order of the file."""
        if pattern.name or pattern.name_starts:
            return self._search(
                [*(f"\0{name}\0" for name in pattern.name), *(f"\0{name}" for name in pattern.name_starts)]
            )
        if pattern.base:
            return self._search_identifiers([base.lstrip("~") for base in pattern.base])
        if pattern.scope or pattern.scope_starts:
            return self._search_identifiers([(pattern.scope or pattern.scope_starts)[-1]])
        if pattern.declares_parameter:
            return self._search(["Tn", "Ty", "Tt", "Tp", "Tk"])
        if pattern.status and Status.RESOLVED not in pattern.status:
            return [imported for status in pattern.status for imported in self._by_status.get(status, ())]
        if pattern.owner:
            return [imported for owner in pattern.owner for imported in self._by_owner.get(owner, ())]
        return self.all
