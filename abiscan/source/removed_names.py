"""Names of torch in a source that the headers of the target release lack or deprecate: qualified names, headers,
macros, and members of objects of known classes.

Only names that some torch release declared are reported. Names that the source or its includes may declare are skipped,
and so is code under conditions that distinguish releases."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping, Set
from functools import cached_property
from heapq import merge

from abiscan.ownership.torch_declarations import (
    HEADERS,
    MACROS,
    TEMPLATE,
    WRITABLE,
    Absence,
    Declarations,
    declarations,
)
from abiscan.ownership.torch_successors import Successor, successor_of
from abiscan.rules.rule import NameForm, Rule, SourcePattern
from abiscan.source.code import Code, included_by
from abiscan.source.declarations import angle_end, needs_writable
from abiscan.source.flagged_place import FlaggedPlace
from abiscan.source.lexer import ARROW, INCLUDE, NAME, SCOPE, Tokens
from abiscan.source.object_types import ObjectTypes
from abiscan.source.release_branches import ReleaseBranches
from abiscan.source.source_set import SourceSet, with_included
from abiscan.source.used_names import MEMBER_CALL

_ROOTS = frozenset({"at", "c10", "torch"})
# Prefixes of torch's macros, C functions and header directories. Other names may belong to any project.
_MACRO_STARTS = ("AT_", "C10_", "TORCH_", "TH", "CAFFE_", "GENERIC_")
_HEADER_STARTS = ("ATen/", "c10/", "torch/", "TH/", "THC/", "THCUNN/", "THNN/")
# A text without any of these has no such names.
MARKS = ("at::", "c10::", "torch::", "Tensor", *_MACRO_STARTS, *_HEADER_STARTS)
_MAX_PARTS = 8
_DOT, _HASH = map(ord, ".#")
_NAMES = re.compile(
    rf"\b(?:(?:{'|'.join(map(re.escape, sorted(_ROOTS)))})\b|(?:{'|'.join(_MACRO_STARTS)})\w*)", re.ASCII
)
_INCLUDE = re.compile(rb"i")
_SCOPE, _SCOPE_NAME = bytes((SCOPE,)), bytes((SCOPE, NAME))


class RemovedNames:
    """The places of one file.

    Args:
        others: finds included files.
        patterns: by form, the rule and pattern that reports it. `deprecated`: for existing names.
        release: of torch.
        branches: of the file, with this release.
    """

    def __init__(
        self,
        code: Code,
        others: SourceSet,
        patterns: Mapping[NameForm, tuple[Rule, SourcePattern]],
        release: str,
        branches: ReleaseBranches,
    ) -> None:
        self._code = code
        self._others = others
        self._patterns = patterns
        self._release = release
        self._branches = branches
        self._found: Tokens = code.unquoted
        self._types = ObjectTypes(code, others)
        # Namespace -> files that open it; (file, name) -> whether it may declare the name.
        self._openings: dict[str, list[Code]] = {}
        self._declaring: dict[tuple[str, str], bool] = {}

    @cached_property
    def _declared(self) -> Declarations:
        return declarations()

    @cached_property
    def _unit(self) -> list[Code]:
        return list(with_included(self._code, self._others))

    def places(self, known: Set[int]) -> Iterator[FlaggedPlace]:
        """Every place, in order.

        Args:
            known: character offsets that another rule reports.
        """
        found = self._found
        kinds = found.kinds
        members = (match.start() + 1 for match in MEMBER_CALL.finditer(kinds))
        includes = (match.start() for match in _INCLUDE.finditer(kinds))
        names = (at for at in found.names(_NAMES) if not at or kinds[at - 1] not in (_DOT, ARROW))
        for at in merge(members, includes, names):
            if found.starts[at] in known:
                continue
            if kinds[at] == INCLUDE:
                place = self._header(at)
            elif at and kinds[at - 1] in (_DOT, ARROW):
                place = self._member(at)
            elif kinds.startswith(_SCOPE, at + 1) and found.word(at) in _ROOTS:
                place = self._qualified(at)
            elif at and kinds[at - 1] == SCOPE:
                continue
            else:
                place = self._macro(at)
            if place is not None and place.at not in known and self._branches.compiles(place.at, default=False):
                yield place

    def _qualified(self, at: int) -> FlaggedPlace | None:
        """`at::native::name`: the first part that is missing."""
        found, kinds = self._found, self._found.kinds
        if at >= 2 and kinds[at - 1] == SCOPE and (kinds[at - 2] == NAME or kinds[at - 2] == ord(">")):
            return None
        self._code.spend(10)
        scope = found.word(at)
        for _part in range(_MAX_PARTS):
            if not kinds.startswith(_SCOPE_NAME, at + 1):
                return None
            at += 2
            name = found.word(at)
            form, absence = self._state(scope, name)
            if form is not None:
                if self._is_own(scope, name):
                    return None
                return self._place(form, f"{scope}::{name}", at, absence)
            scope = f"{scope}::{name}"
        return None

    def _member(self, at: int) -> FlaggedPlace | None:
        found = self._found
        # Most members belong to classes that no release changed.
        name = found.word(at)
        if not self._declared.is_changing(name):
            return None
        if self._code.tokens.index_at(found.starts[at]) is None:
            return None
        scope = self._types.class_of(found.starts[at])
        if scope is None:
            return None
        form, absence = self._state(scope, name)
        if form is not None and form != "deprecated":
            return self._place(form, f"{scope}::{name}", at, absence)
        changed = self._changed_member(scope, name, at)
        if changed is not None or form is None:
            return changed
        return self._place(form, f"{scope}::{name}", at, absence)

    def _changed_member(self, scope: str, name: str, at: int) -> FlaggedPlace | None:
        """`x.name<T>()` where `name` is no template any more, or `T* p = x.name()` where its result is const."""
        found = self._found
        called = angle_end(found, at + 1, len(found)) or at + 1
        if found.kinds[called : called + 1] != b"(":
            return None
        form: NameForm = "name"
        suffix, shown = TEMPLATE, "<T>()"
        if called == at + 1:
            form, suffix, shown = "constant", WRITABLE, "()"
        absence = self._declared.absence(scope, name + suffix, self._release)
        if absence is None or absence.last is None:
            return None
        if form == "constant" and not needs_writable(self._code, found.starts[at]):
            return None
        return self._place(form, f"{scope}::{name}{shown}", at, absence)

    def _macro(self, at: int) -> FlaggedPlace | None:
        found = self._found
        name = found.word(at)
        if not name.startswith(_MACRO_STARTS):
            return None
        self._code.spend(10)
        before = [found.word(each) for each in range(max(at - 2, 0), at)]
        if before[-1:] == ["defined"] or before == ["defined", "("] or before[:1] == ["#"]:
            return None
        for scope in (MACROS, ""):
            absence = self._declared.absence(scope, name, self._release)
            if absence is not None and absence.last is not None:
                if any(each.macro(name) is not None or self._declares(each, name) for each in self._unit):
                    return None
                return self._place("name", name, at, absence)
        return None

    def _header(self, at: int) -> FlaggedPlace | None:
        path = self._found.word(at)
        if not path.startswith(_HEADER_STARTS):
            return None
        absence = self._declared.absence(HEADERS, path, self._release)
        if absence is None or absence.last is None or self._others.find(self._code.path, path) is not None:
            return None
        if self._has_alternative(path, self._found.starts[at]):
            return None
        return self._place("header", path, at, absence)

    def _has_alternative(self, path: str, offset: int) -> bool:
        """Whether another branch of the condition around an include has the header at its new place."""
        successor = successor_of(path, self._release)
        for text in self._branches.alternatives(offset):
            for other in included_by(text):
                moved = posixpath.basename(other) == posixpath.basename(path)
                if (
                    other != path
                    and other.startswith(_HEADER_STARTS)
                    and (moved or (successor is not None and other == successor.use))
                ):
                    return self._declared.absence(HEADERS, other, self._release) is None
        return False

    def _state(self, scope: str, name: str) -> tuple[NameForm | None, Absence | None]:
        absence = self._declared.absence(scope, name, self._release)
        if absence is not None:
            return ("name" if absence.last is not None else "later"), absence
        if self._declared.deprecated_since(scope, name, self._release) is not None:
            return "deprecated", None
        return None, None

    def _is_own(self, scope: str, name: str) -> bool:
        """Whether the file or its includes may declare a name in a namespace of torch."""
        root = scope.partition("::")[0]
        if root not in self._openings:
            opens = re.compile(rf"\bnamespace\s+(?:\w+::)*{re.escape(root)}\b", re.ASCII)
            self._openings[root] = [each for each in self._unit if opens.search(each.text)]
        return any(self._declares(each, name) for each in self._openings[root])

    def _declares(self, code: Code, name: str) -> bool:
        # Cached by name, since the number of places may be large.
        key = (code.path, name)
        if key not in self._declaring:
            self._declaring[key] = self._may_declare(code, name)
        return self._declaring[key]

    def _may_declare(self, code: Code, name: str) -> bool:
        """Whether a name is at a place that may be a declaration."""
        for at in code.places_of(name):
            found = code.tokens
            self._code.spend(5)
            before = found.kinds[at - 1] if at else _HASH
            if before == NAME and found.word(at - 1) not in ("return", "else", "case", "throw", "new", "delete"):
                return True
            if before in b"*&>" and at > 1:
                return True
        return False

    def _place(self, form: NameForm, text: str, at: int, absence: Absence | None) -> FlaggedPlace | None:
        if form not in self._patterns:
            return None
        rule, pattern = self._patterns[form]
        successor = successor_of(text, self._release)
        return FlaggedPlace(
            rule,
            pattern,
            text,
            None,
            "",
            self._found.starts[at],
            fields={
                "detail": _detail(absence),
                "instead": _instead(successor, absence, form),
                "target": f"torch {self._release}",
            },
        )


def _detail(absence: Absence | None) -> str:
    if absence is None:
        return ""
    if absence.last is None:
        return f"torch {absence.added_in}"
    return f"torch {absence.removed_in}"


def _instead(successor: Successor | None, absence: Absence | None, form: NameForm) -> str:
    """An imperative sentence without a period."""
    if successor is not None:
        return successor.advice
    if form == "constant":
        return "Declare the result as a pointer or reference to const"
    if absence is not None and absence.last is None:
        return f"Compile with torch {absence.added_in} or later"
    last = "" if absence is None else f" (the last release that declares it is torch {absence.last})"
    return f"Remove the use; no replacement is known{last}"
