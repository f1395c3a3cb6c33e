"""One C++, CUDA or HIP file as tokens: without directives and branches that HIP skips, with matched brackets."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate

from msgspec import Struct

from abiscan.errors import UnreadableFile
from abiscan.model.limits import MIN_SOURCE_STEPS, SOURCE_CHARACTERS_PER_STEP
from abiscan.source.conditions import holds
from abiscan.source.lexer import INCLUDE, NAME, Token, TokenList, Tokens, tokens, word_at

_OPENING = {ord(")"): ord("("), ord("]"): ord("["), ord("}"): ord("{")}
_BRACKET = re.compile(rb"[()\[\]{}]")
_BRACKETS = frozenset("()[]{}")
_BRACE = ord("}")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_DIRECTIVE = re.compile(rb"[#i]")
# Maximum number of included paths of one file; known files have less than a thousand.
_MAX_INCLUDES = 10_000
# Maximum number of tokens, of some 120 bytes each, that are created at once.
_MAX_LISTED = 200_000
# Maximum number of names to search in the text, and of places of each; for more, every word is indexed.
_MAX_SEARCHES = 32
_MAX_OCCURRENCES = 4_096
_CONDITIONS = frozenset({"if", "ifdef", "ifndef"})
# Approximate number of entries of a `WordIndex` per slot.
_PER_SLOT = 4
_MOST_SLOTS = 1 << 16


class WordIndex:
    """The offsets of each word of a file: a hash table in arrays, since a file may have a million words.

    Args:
        entries: (word, number) in order; words are not stored.
    """

    def __init__(self, entries: Iterable[tuple[str, int]]) -> None:
        hashes, numbers = array("H"), array("I")
        add_hash, add, most = hashes.append, numbers.append, _MOST_SLOTS - 1
        for word, number in entries:
            add_hash(hash(word) & most)
            add(number)
        slots = _MOST_SLOTS
        while slots > 1 and slots > len(numbers) // _PER_SLOT:
            slots >>= 1
        self._mask = slots - 1
        counts = [0] * (slots + 1)
        for value in hashes:
            counts[(value & self._mask) + 1] += 1
        self._bounds = array("I", accumulate(counts))
        following = list(self._bounds)
        self._numbers = array("I", bytes(numbers.itemsize * len(numbers)))
        for value, number in zip(hashes, numbers, strict=True):
            slot = value & self._mask
            self._numbers[following[slot]] = number
            following[slot] += 1

    def candidates(self, word: str) -> Sequence[int]:
        """The numbers of a word and of others with the same hash, in order: compare the words."""
        slot = hash(word) & self._mask
        return self._numbers[self._bounds[slot] : self._bounds[slot + 1]]


class Macro(Struct, frozen=True):
    """A `#define`.

    Attributes:
        parameters: None without a parameter list.
        body: may be empty.
    """

    name: str
    parameters: tuple[str, ...] | None
    body: Sequence[Token]


def included_by(text: str) -> list[str]:
    """Paths of a text's `#include`s as written, in order, without duplicates, from all branches. Takes one search."""
    written = re.finditer(r"""^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]{1,512})[>"]""", text, re.MULTILINE)
    found: dict[str, None] = {}
    for match in written:
        found[match[1]] = None
        if len(found) == _MAX_INCLUDES:
            break
    return list(found)


class Steps:
    """Budget of steps for one file and the files that it includes.

    Args:
        path: of the file, for the message.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._admitted: set[str] = set()
        self.left = MIN_SOURCE_STEPS

    def admit(self, code: Code) -> None:
        """Add the steps of an included file, once."""
        if code.path not in self._admitted:
            self._admitted.add(code.path)
            self.left += len(code.text) // SOURCE_CHARACTERS_PER_STEP
        code.steps = self

    def spend(self, steps: int) -> None:
        """Use steps.

        Raises:
            UnreadableFile: the budget is exceeded.
        """
        self.left -= steps
        if self.left < 0:
            raise UnreadableFile(self._path, "its declarations take too many steps: too large to be read as a source")


class Code:
    """The text of a file, and views of it that are computed on demand.

    Attributes:
        path: as named by its source tree.
        steps: the budget; an included file uses that of the checked file.
        nearest: cache of `declarations`.

    Args:
        many: create all tokens at once, unless there are too many, for many lookups.
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
    def unquoted(self) -> Tokens:
        """`every_token` without string literals."""
        return self.every_token.without_strings()

    @cached_property
    def every_listed(self) -> Tokens | TokenList:
        """`every_token` for many lookups."""
        return listed(self.every_token)

    @cached_property
    def every_partner(self) -> array[int]:
        """`partner` for `every_token`: brackets of all branches."""
        return match_brackets(self.every_token)

    @cached_property
    def _parts(self) -> tuple[Tokens, WordIndex, array[int]]:
        return _parts(self.every_token, self.text)

    @cached_property
    def tokens(self) -> Tokens | TokenList:
        """The tokens outside of directives, with string literals. Only one branch of an `#if` is included, so that
        brackets match: the first one that HIP may compile.

        Raises:
            UnreadableFile: the file has more than `MAX_SOURCE_TOKENS`.
        """
        return listed(self._parts[0]) if self._many else self._parts[0]

    def macro(self, name: str) -> Macro | None:
        """The definition of a macro: the last one that HIP may compile, else the first."""
        first: int | None = None
        chosen: int | None = None
        for number in self._parts[1].candidates(name):
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
        """Whether an identifier in the file matches, including those in directives and macros.

        Args:
            meant: matches whole identifiers.
        """
        if meant not in self._names:
            matches = meant.finditer(self.text)
            self._names[meant] = any(self.every_token.index_at(match.start()) is not None for match in matches)
        return self._names[meant]

    @cached_property
    def partner(self) -> array[int]:
        """For each bracket of `tokens` the index of its counterpart; -1 for other tokens."""
        return match_brackets(self.tokens)

    @cached_property
    def _places(self) -> WordIndex:
        # Offsets, including words in comments and strings: keeping them takes less time than to check which are tokens.
        return WordIndex((match[0], match.start()) for match in _IDENTIFIER.finditer(self.text))

    def places_of(self, name: str) -> Iterator[int]:
        """The indices in `tokens` of a name."""
        for offset in self._offsets_of(name):
            at = self.tokens.index_at(offset) if self.text.startswith(name, offset) else None
            if at is not None and self.tokens.kinds[at] == NAME and self.tokens.word(at) == name:
                yield at

    def _offsets_of(self, name: str) -> Sequence[int]:
        """The offsets where a name may be, in order. Few names of most files are needed, and this needs no index."""
        self._searches += 1
        if "_places" not in self.__dict__ and self._searches <= _MAX_SEARCHES:
            if not (count := self.text.count(name)):
                return ()
            if count <= _MAX_OCCURRENCES:
                return [*_occurrences(self.text, name)]
        return self._places.candidates(name)

    def is_in_directive(self, offset: int) -> bool:
        """Whether the character at an offset is in a directive other than `#include`."""
        return bisect_right(self._parts[2], offset) % 2 == 1

    def spend(self, steps: int) -> None:
        """See `Steps.spend`."""
        self.steps.spend(steps)


def _occurrences(text: str, name: str) -> Iterator[int]:
    at = text.find(name)
    while at >= 0:
        yield at
        at = text.find(name, at + len(name))


def listed(found: Tokens) -> Tokens | TokenList:
    """The tokens in the fastest form, unless it takes too much memory."""
    return TokenList(found) if len(found) <= _MAX_LISTED else found


def match_brackets(found: Sequence[Token]) -> array[int]:
    """For each `(`, `[`, `{` and its counterpart the index of the other; -1 for other tokens and unmatched brackets."""
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
        # A brace closes brackets that are open inside of it; a parenthesis never closes a brace.
        if kinds[at] == _BRACE:
            while opened and kinds[opened[-1]] != wanted:
                opened.pop()
        if opened and kinds[opened[-1]] == wanted:
            other = opened.pop()
            partner[at], partner[other] = other, at
    return partner


# State of an open `#if`, as bits of one byte: its current branch is kept, one of its branches was kept, one is true,
# one is unknown.
_STANDS, _TAKEN, _HOLDS, _UNKNOWN = 1, 2, 4, 8


def _parts(every: Tokens, text: str) -> tuple[Tokens, WordIndex, array[int]]:
    """The kept tokens; the offset of each `#define` by name, twice, plus 1 if it is kept; and the start and end of each
    directive."""
    kept = Tokens(text, array("I"), bytearray())
    defined, directives = array("I"), array("I")
    branches = bytearray()
    left_out = 0  # skipped branches
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
            # There is no further directive on this line.
            end = text.find("\n", offset)
            stop = bisect_left(every.starts, end if end >= 0 else len(text), at + 1)
            if not left_out:
                kept.take(every, at, stop)
            at = stop
    return kept, WordIndex((word_at(text, number // 2), number) for number in defined), directives


def _follow(branches: bytearray, line: Tokens) -> int:
    """Process a conditional directive. Return the change in the number of skipped branches."""
    keyword = line.word(0)
    if keyword in _CONDITIONS:
        known = holds(keyword, line[1:])
        branches.append(_known(known) | (0 if known is False else _STANDS | _TAKEN))
        return int(known is False)
    if keyword in ("elif", "else") and branches:
        branch = branches[-1]
        # Branches after a true one are skipped. `#else` is true if no branch before it is.
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
    """The macro whose name is at an offset in its `#define`."""
    rest = tokens(text[at + len(name) : _line_end(text, at)], strings=True)
    # A parameter list follows the name without a space (ISO C++20, 15.6 [cpp.replace]).
    if not rest or rest.word(0) != "(" or rest.starts[0] != 0:
        return Macro(name, None, rest)
    end = next((at for at in range(len(rest)) if rest.word(at) == ")"), len(rest) - 1)
    parameters = tuple(token.text for token in rest[1:end] if token.kind == "name")
    return Macro(name, parameters, rest[end + 1 :])


def _starts_line(text: str, at: int) -> bool:
    # No directive is indented further. Limits the search in a file with one long line.
    lowest = max(0, at - 200)
    start = text.rfind("\n", lowest, at)
    return (start >= 0 or lowest == 0) and not text[start + 1 if start >= 0 else 0 : at].strip()


def _line_end(text: str, at: int) -> int:
    """The offset after a directive, with its continuation lines."""
    while True:
        end = text.find("\n", at)
        if end < 0:
            return len(text)
        if not text[max(end - 2, at) : end].rstrip("\r").endswith("\\"):
            return end
        at = end + 1
