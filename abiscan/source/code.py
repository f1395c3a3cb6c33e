"""One C++, CUDA or HIP file taken apart: directives aside, brackets matched, what HIP leaves out left out."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property

from msgspec import Struct

from abiscan.errors import UnreadableFile
from abiscan.model.limits import MIN_SOURCE_STEPS, SOURCE_CHARACTERS_PER_STEP
from abiscan.source.conditions import holds
from abiscan.source.lexer import INCLUDE, NAME, Token, TokenList, Tokens, tokens, word_at
from abiscan.source.word_index import WordIndex

_OPENING = {ord(")"): ord("("), ord("]"): ord("["), ord("}"): ord("{")}
_BRACKET = re.compile(rb"[()\[\]{}]")
_BRACKETS = frozenset("()[]{}")
_BRACE = ord("}")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DIRECTIVE = re.compile(rb"[#i]")
# Paths that one file includes; none that is known has a thousand.
_MAX_INCLUDES = 10_000
# Tokens of some 120 bytes each that are made at once.
_MAX_LISTED = 200_000
# Names that a text is searched for; for more of them its tokens are taken apart.
_MAX_SEARCHES = 32
_CONDITIONS = frozenset({"if", "ifdef", "ifndef"})


class Macro(Struct, frozen=True):
    """A `#define`.

    Attributes:
        parameters: None for one without a parameter list.
        body: may be empty.
    """

    name: str
    parameters: tuple[str, ...] | None
    body: Sequence[Token]


def included_by(text: str) -> list[str]:
    """Paths of a text's `#include`s as written, in order, each once; of every branch, and at no more than the price of
    a search."""
    written = re.finditer(r"""^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]{1,512})[>"]""", text, re.MULTILINE)
    found: dict[str, None] = {}
    for match in written:
        found[match[1]] = None
        if len(found) == _MAX_INCLUDES:
            break
    return list(found)


class Steps:
    """The steps that the check of one file may still take, in the file itself and in those that it includes.

    Args:
        path: of the file, for the message.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._admitted: set[str] = set()
        self.left = MIN_SOURCE_STEPS

    def admit(self, code: Code) -> None:
        """Let the check read a file, which each lengthens once."""
        if code.path not in self._admitted:
            self._admitted.add(code.path)
            self.left += len(code.text) // SOURCE_CHARACTERS_PER_STEP
        code.steps = self

    def spend(self, steps: int) -> None:
        """Take steps.

        Raises:
            UnreadableFile: there are not that many left.
        """
        self.left -= steps
        if self.left < 0:
            raise UnreadableFile(self._path, "its declarations take too many steps: too large to be read as a source")


class Code:
    """The text of a file, and views of it that are made when they are asked for.

    Attributes:
        path: as the tree that it comes from names it.
        steps: what questions about it are taken from; an included file's are those of the file that is checked.
        nearest: for `declarations`, what it found of names so far.

    Args:
        many: much will be asked of its tokens: those of a file of usual size are all made at once.
    """

    def __init__(self, path: str, text: str, *, many: bool = False) -> None:
        self.path = path
        self.text = text
        self._many = many
        self._names: dict[re.Pattern[str], bool] = {}
        self._searches = 0
        self.nearest: dict[object, object] = {}
        self.steps = Steps(path)
        self.steps.admit(self)

    @cached_property
    def every_token(self) -> Tokens:
        """The tokens of the whole text, with string literals.

        Raises:
            UnreadableFile: there are more than `MAX_SOURCE_TOKENS`.
        """
        return tokens(self.text, strings=True, path=self.path)

    @cached_property
    def _parts(self) -> tuple[Tokens, WordIndex, array[int]]:
        return _parts(self.every_token, self.text)

    @cached_property
    def tokens(self) -> Tokens | TokenList:
        """The tokens outside of directives, with string literals. Of `#if` and its `#else` one branch stands, so that
        brackets match: the first that a compilation by HIP may see.

        Raises:
            UnreadableFile: the file has more than `MAX_SOURCE_TOKENS`.
        """
        return listed(self._parts[0]) if self._many else self._parts[0]

    def macro(self, name: str) -> Macro | None:
        """What the file defines by this name: the last definition that HIP may see, else the first of all."""
        first: int | None = None
        chosen: int | None = None
        for number in self._parts[1].may_be(name):
            at, stands = divmod(number, 2)
            if word_at(self.text, at) == name:
                first = at if first is None else first
                chosen = at if stands else chosen
        at_name = chosen if chosen is not None else first
        return None if at_name is None else _macro(self.text, at_name, name)

    @cached_property
    def includes(self) -> list[str]:
        """Paths of its `#include`s as written, in order."""
        return included_by(self.text)

    def has_name(self, meant: re.Pattern[str]) -> bool:
        """Whether an identifier in the file, those in directives and macros too, is meant.

        Args:
            meant: matches whole identifiers.
        """
        if meant not in self._names:
            matches = meant.finditer(self.text)
            self._names[meant] = any(self.every_token.index_at(match.start()) is not None for match in matches)
        return self._names[meant]

    @cached_property
    def partner(self) -> array[int]:
        """For each bracket of `tokens` the index of the one that it belongs to; -1 for anything else."""
        return match_brackets(self.tokens)

    @cached_property
    def _places(self) -> WordIndex:
        # Offsets, also of words in comments and strings: to ask which are tokens takes longer than to keep them all.
        return WordIndex((match[0], match.start()) for match in _IDENTIFIER.finditer(self.text))

    def places_of(self, name: str) -> Iterator[int]:
        """The indices in `tokens` of a name."""
        if not self._may_have(name):
            return
        found = self.tokens
        for offset in self._places.may_be(name):
            at = found.index_at(offset) if self.text.startswith(name, offset) else None
            if at is not None and found.kinds[at] == NAME and found.word(at) == name:
                yield at

    def _may_have(self, name: str) -> bool:
        """Whether the text may have a name: most files are asked for few, and need no tokens for that."""
        self._searches += 1
        return "_places" in self.__dict__ or self._searches > _MAX_SEARCHES or name in self.text

    def index_at(self, offset: int) -> int | None:
        """The index in `tokens` of the token at a character offset; None where a directive or no branch has it."""
        return self.tokens.index_at(offset)

    def is_in_directive(self, offset: int) -> bool:
        """Whether the character at an offset belongs to a directive, `#include` aside."""
        return bisect_right(self._parts[2], offset) % 2 == 1

    def spend(self, steps: int) -> None:
        """As `Steps.spend`."""
        self.steps.spend(steps)


def listed(found: Tokens) -> Tokens | TokenList:
    """The tokens in the form that is asked fastest, where they are not so many that it takes too much memory."""
    return TokenList(found) if len(found) <= _MAX_LISTED else found


def match_brackets(found: Sequence[Token]) -> array[int]:
    """For each `(`, `[`, `{` and its counterpart the index of the other; -1 for anything else and for what is alone."""
    if isinstance(found, Tokens | TokenList):
        kinds: bytes | bytearray = found.kinds
    else:
        kinds = bytes(ord(token.text) if token.text in _BRACKETS else NAME for token in found)
    partner = array("i", [-1]) * len(kinds)
    opened = array("I")
    for bracket in _BRACKET.finditer(kinds):
        at = bracket.start()
        wanted = _OPENING.get(kinds[at])
        if wanted is None:
            opened.append(at)
            continue
        # A brace closes whatever stayed open inside of it; a parenthesis never closes a brace.
        if kinds[at] == _BRACE:
            while opened and kinds[opened[-1]] != wanted:
                opened.pop()
        if opened and kinds[opened[-1]] == wanted:
            other = opened.pop()
            partner[at], partner[other] = other, at
    return partner


# Of an open `#if`, as bits of one byte: its present branch stands, one of its branches stood; one is known to hold, of
# one it is not known.
_STANDS, _TAKEN, _HOLDS, _UNKNOWN = 1, 2, 4, 8


def _parts(every: Tokens, text: str) -> tuple[Tokens, WordIndex, array[int]]:
    """The tokens that stand; of each `#define` of a name its offset, twice, and 1 added where it stands; and the
    offsets at which each directive begins and ends."""
    kept = Tokens(text, array("I"), bytearray())
    defined, directives = array("I"), array("I")
    branches = bytearray()
    left_out = 0  # branches that do not stand
    at = 0
    while at < len(every):
        directive = _DIRECTIVE.search(every.kinds, at)
        stop = len(every) if directive is None else directive.start()
        if not left_out:
            kept.take(every, at, stop)
        at = stop
        if at == len(every):
            break
        offset = every.starts[at]
        if every.kinds[at] == INCLUDE:
            at += 1
        elif _starts_line(text, offset):
            end = _line_end(text, offset)
            directives.extend((offset, end))
            stop = bisect_left(every.starts, end, at + 1)
            line = every[at + 1 : stop]
            at = stop
            if len(line) > 1 and line.word(0) == "define":
                if line.kinds[1] == NAME:
                    defined.append(2 * line.starts[1] + (not left_out))
            elif line:
                left_out += _follow(branches, line)
        else:
            # Nothing further on this line is a directive either.
            end = text.find("\n", offset)
            stop = bisect_left(every.starts, end if end >= 0 else len(text), at + 1)
            if not left_out:
                kept.take(every, at, stop)
            at = stop
    return kept, WordIndex((word_at(text, number // 2), number) for number in defined), directives


def _follow(branches: bytearray, line: Sequence[Token]) -> int:
    """Take note of a condition's directive; by how many more branches do not stand."""
    keyword = line[0].text
    if keyword in _CONDITIONS:
        known = holds(keyword, line[1:])
        branches.append(_known(known) | (0 if known is False else _STANDS | _TAKEN))
        return int(known is False)
    if keyword in ("elif", "else") and branches:
        branch = branches[-1]
        # What follows a branch that holds is left out; `#else` holds where none before it does.
        if branch & _HOLDS:
            known = False
        elif keyword == "elif":
            known = holds("if", line[1:])
        else:
            known = None if branch & _UNKNOWN else True
        stands = not branch & _TAKEN and known is not False
        branches[-1] = branch & ~_STANDS | _known(known) | (_STANDS | _TAKEN if stands else 0)
        return bool(branch & _STANDS) - stands
    if keyword == "endif" and branches:
        return -(not branches.pop() & _STANDS)
    return 0


def _known(known: bool | None) -> int:
    return _UNKNOWN if known is None else _HOLDS if known else 0


def _macro(text: str, at: int, name: str) -> Macro:
    """The macro whose name stands at an offset in its `#define`."""
    rest = tokens(text[at + len(name) : _line_end(text, at)], strings=True)
    # A parameter list follows the name without a space (ISO C++20, 15.6 [cpp.replace]).
    if not rest or rest.word(0) != "(" or rest.starts[0] != 0:
        return Macro(name, None, rest)
    end = next((at for at in range(len(rest)) if rest.word(at) == ")"), len(rest) - 1)
    parameters = tuple(token.text for token in rest[1:end] if token.kind == "name")
    return Macro(name, parameters, rest[end + 1 :])


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
