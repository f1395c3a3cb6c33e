"""One C++, CUDA or HIP file taken apart: directives aside, brackets matched, what HIP leaves out left out."""

from __future__ import annotations

import re
from functools import cached_property

from msgspec import Struct

from abiscan.source.conditions import holds
from abiscan.source.lexer import Token, tokens

_OPENING = {")": "(", "]": "[", "}": "{"}
_CONDITIONS = frozenset({"if", "ifdef", "ifndef"})


class Macro(Struct, frozen=True):
    """A `#define`.

    Attributes:
        parameters: None for one without a parameter list.
        body: may be empty.
    """

    name: str
    parameters: tuple[str, ...] | None
    body: tuple[Token, ...]


def included_by(text: str) -> list[str]:
    """Paths of a text's `#include`s as written, in order; of every branch, and at no more than the price of a
    search."""
    return re.findall(r"""^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]{1,512})[>"]""", text, re.MULTILINE)


class Code:
    """The text of a file, and views of it that are made when they are asked for.

    Attributes:
        path: as the tree that it comes from names it.
    """

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        # Tokens that questions about declarations may still walk over, for all of them together.
        self.steps_left = 2_000_000

    @cached_property
    def _parts(self) -> tuple[list[Token], dict[str, Macro]]:
        return _parts(self.text)

    @property
    def tokens(self) -> list[Token]:
        """The tokens outside of directives, with string literals. Of `#if` and its `#else` one branch stands, so that
        brackets match: the first that a compilation by HIP may see."""
        return self._parts[0]

    @property
    def macros(self) -> dict[str, Macro]:
        """What the file defines, by name."""
        return self._parts[1]

    @cached_property
    def includes(self) -> list[str]:
        """Paths of its `#include`s as written, in order."""
        return included_by(self.text)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every identifier in the file, those in directives and macros too."""
        return frozenset(token.text for token in tokens(self.text) if token.kind == "name")

    @cached_property
    def partner(self) -> list[int]:
        """For each bracket of `tokens` the index of the one that it belongs to; -1 for anything else."""
        return match_brackets(self.tokens)

    @cached_property
    def _starts(self) -> dict[int, int]:
        return {token.at: index for index, token in enumerate(self.tokens)}

    @cached_property
    def before_parentheses(self) -> dict[str, list[int]]:
        """Where each name stands before a `(` in `tokens`: calls, declarations and definitions."""
        places: dict[str, list[int]] = {}
        found = self.tokens
        for at in range(len(found) - 1):
            if found[at + 1].text == "(" and found[at].kind == "name":
                places.setdefault(found[at].text, []).append(at)
        return places

    def index_at(self, offset: int) -> int | None:
        """The index in `tokens` of the token at a character offset; None where a directive or no branch has it."""
        return self._starts.get(offset)


def match_brackets(found: list[Token]) -> list[int]:
    """For each `(`, `[`, `{` and its counterpart the index of the other; -1 for anything else and for what is alone."""
    partner = [-1] * len(found)
    opened: list[int] = []
    for at, token in enumerate(found):
        if token.kind != "mark":
            continue
        if token.text in "([{":
            opened.append(at)
        elif token.text in _OPENING and opened:
            wanted = _OPENING[token.text]
            # A brace closes whatever stayed open inside of it; a parenthesis never closes a brace.
            while opened and found[opened[-1]].text != wanted and token.text == "}":
                opened.pop()
            if opened and found[opened[-1]].text == wanted:
                other = opened.pop()
                partner[at], partner[other] = other, at
    return partner


class _Branch(Struct):
    """An open `#if`: whether its present branch stands, whether one stood before, and what is known of each so far."""

    stands: bool
    taken: bool
    known: list[bool | None]


def _parts(text: str) -> tuple[list[Token], dict[str, Macro]]:
    every = tokens(text, strings=True)
    kept: list[Token] = []
    macros: dict[str, Macro] = {}
    branches: list[_Branch] = []
    at = 0
    stands = True
    while at < len(every):
        token = every[at]
        if token.kind == "include":
            at += 1
        elif token.text == "#" and token.kind == "mark" and _starts_line(text, token.at):
            end = _line_end(text, token.at)
            stop = at + 1
            while stop < len(every) and every[stop].at < end:
                stop += 1
            line = every[at + 1 : stop]
            at = stop
            if line and line[0].text == "define" and len(line) > 1:
                macro = _macro(line)
                # A file that defines it anew in another branch keeps the one that HIP may see.
                if stands or macro.name not in macros:
                    macros[macro.name] = macro
            elif line:
                _follow(branches, line)
                stands = all(branch.stands for branch in branches)
        else:
            if stands:
                kept.append(token)
            at += 1
    return kept, macros


def _follow(branches: list[_Branch], line: list[Token]) -> None:
    keyword = line[0].text
    if keyword in _CONDITIONS:
        known = holds(keyword, line[1:])
        branches.append(_Branch(known is not False, known is not False, [known]))
    elif keyword in ("elif", "else") and branches:
        branch = branches[-1]
        # What follows a branch that holds is left out; `#else` holds where none before it does.
        if True in branch.known:
            known = False
        elif keyword == "elif":
            known = holds("if", line[1:])
        else:
            known = None if None in branch.known else True
        branch.known.append(known)
        branch.stands = not branch.taken and known is not False
        branch.taken = branch.taken or branch.stands
    elif keyword == "endif" and branches:
        branches.pop()


def _macro(line: list[Token]) -> Macro:
    name, rest = line[1], line[2:]
    # A parameter list follows the name without a space (ISO C++20, 15.6 [cpp.replace]).
    if not rest or rest[0].text != "(" or rest[0].at != name.at + len(name.text):
        return Macro(name.text, None, tuple(rest))
    end = next((at for at, token in enumerate(rest) if token.text == ")"), len(rest) - 1)
    parameters = tuple(token.text for token in rest[1:end] if token.kind == "name")
    return Macro(name.text, parameters, tuple(rest[end + 1 :]))


def _starts_line(text: str, at: int) -> bool:
    # No directive is indented further, and a file of one line must not be searched from every `#` on.
    lowest = max(0, at - 200)
    start = text.rfind("\n", lowest, at)
    return (start >= 0 or lowest == 0) and not text[start + 1 if start >= 0 else 0 : at].strip()


def _line_end(text: str, at: int) -> int:
    """The offset behind a directive: its line with all that a backslash at the end continues."""
    while True:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        if not text[max(end - 2, at) : end].rstrip("\r").endswith("\\"):
            return end
        at = end + 1
