"""The text of a file for rewrites: the tokens of all branches and macro bodies, and edits."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from functools import cached_property

from msgspec import Struct

from abiscan.source.code import Code
from abiscan.source.declarations import angle_end
from abiscan.source.lexer import TokenList, Tokens
from abiscan.source.object_types import ObjectTypes
from abiscan.source.postfix_expressions import MAX_EXPRESSION, postfix_start
from abiscan.source.source_set import SourceSet, users_of


class Edit(Struct, frozen=True, order=True):
    """Replaces the characters from `start` to before `end` by `text`."""

    start: int
    end: int
    text: str


class NotRewritten(Struct, frozen=True):
    """A place that is not rewritten, and the reason as the end of a sentence."""

    reason: str


class EditableSource:
    """A file to rewrite.

    Attributes:
        path: in reports.
        others: finds included files.
    """

    def __init__(self, path: str, text: str, others: SourceSet) -> None:
        self.path = path
        self.text = text
        self.others = others
        # Header path -> offset where the rewrites of this file insert an `#include`.
        self.included: dict[str, int] = {}

    @cached_property
    def code(self) -> Code:
        """The same file for lookups of declarations."""
        return Code(self.path, self.text, many=True)

    @cached_property
    def objects(self) -> ObjectTypes:
        """Types of its objects."""
        return ObjectTypes(self.code, self.others)

    @cached_property
    def tokens(self) -> Tokens | TokenList:
        """All tokens, including string literals."""
        return self.code.every_listed

    @cached_property
    def partner(self) -> array[int]:
        """See `Code.every_partner`."""
        return self.code.every_partner

    def index(self, offset: int) -> int:
        """The index of the token at a character offset; there must be one."""
        return bisect_left(self.tokens.starts, offset)

    def end(self, index: int) -> int:
        """The offset after a token."""
        return self.tokens[index].at + len(self.tokens[index].text)

    def word(self, index: int) -> str:
        """The text of a token; empty beyond the end of the file."""
        return self.tokens[index].text if 0 <= index < len(self.tokens) else ""

    def between(self, first: int, last: int) -> str:
        """The text from the token `first` to before the token `last`."""
        return self.text[self.tokens[first].at : self.end(last - 1)]

    def replaced(self, index: int, text: str) -> Edit:
        """An edit that replaces one token."""
        return Edit(self.tokens[index].at, self.end(index), text)

    def angle_end(self, index: int) -> int | None:
        """The index after the template arguments that start at `index`; None if there are none."""
        return angle_end(self.tokens, index, len(self.tokens), MAX_EXPRESSION)

    def object_start(self, index: int) -> int | None:
        """`postfix_start` for the `.` or `->` before the member named at `index`."""
        return postfix_start(self.tokens, self.partner, index - 2 if self.word(index - 1) == "template" else index - 1)

    def include(self, header: str, before: int) -> list[Edit] | None:
        """Edits that include a header before a character offset: none if the file includes it; None if there is no
        `#include` that it could follow."""
        if header in self.code.includes:
            return []
        at = self.included.get(header)
        if at is None:
            at = self._behind_includes(before)
        if at is None:
            return None
        self.included[header] = at
        return [Edit(at, at, f"#include <{header}>\n")]

    def _behind_includes(self, before: int) -> int | None:
        """The offset after the last `#include` above a place and outside of conditions."""
        depth = 0
        found = None
        for index, token in enumerate(self.tokens):
            if token.at >= before:
                break
            if token.kind == "include" and depth == 0:
                end = self.text.find("\n", token.at)
                found = None if end < 0 else end + 1
            elif token.text == "#" and self.word(index + 1) in ("if", "ifdef", "ifndef"):
                # An include guard encloses the whole header.
                guard = self.word(index + 1) == "ifndef" and not any(t.kind == "include" for t in self.tokens[:index])
                depth += not guard
            elif token.text == "#" and self.word(index + 1) == "endif":
                depth = max(0, depth - 1)
        return found

    def else_follows(self, index: int) -> bool:
        """Whether the token is in a macro body, and the macro is used as `MACRO(...); else`, or `MACRO(...) else` if
        the body ends in `;`. The statement must then not end in an `if`."""
        name = self._macro(index)
        if not name:
            return False
        macro = self.word(name)
        return any(_with_else(code, macro) for code in (self.code, *users_of(self.code, self.others)))

    def _macro(self, index: int) -> int | None:
        """The name of the macro whose definition contains a token; 0 for none, None if it is too long."""
        start = self.tokens[index].at
        for _line in range(MAX_EXPRESSION):
            start = self.text.rfind("\n", 0, start)
            if start < 0 or not self.text[max(start - 2, 0) : start].rstrip("\r").endswith("\\"):
                break
        else:
            return None  # too long to search from every line
        first = bisect_left(self.tokens.starts, start + 1)
        if self.word(first) != "#" or self.word(first + 1) != "define":
            return 0
        return first + 2


def _with_else(code: Code, macro: str) -> bool:
    """Whether a file contains `MACRO(...); else` or `MACRO(...) else`."""
    for at in code.places_of(macro):
        found = code.tokens
        if found.kinds[at + 1 : at + 2] != b"(":
            continue
        close = code.partner[at + 1]
        behind = [each.text for each in found[close + 1 : close + 3]] if close > 0 else []
        if behind[:1] == ["else"] or behind == [";", "else"]:
            return True
    return False


def edited(text: str, edits: list[Edit]) -> str:
    """Apply edits to a text. If two overlap, the one that starts later is dropped."""
    parts = []
    at = 0
    for edit in sorted(edits):
        if edit.start < at:
            continue
        parts += [text[at : edit.start], edit.text]
        at = edit.end
    return "".join([*parts, text[at:]])
