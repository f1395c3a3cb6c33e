"""Tokenizes C++, CUDA and HIP: names and punctuation, without comments; literals on request.

Lexical grammar: ISO C++20, clause 5 [lex]. Tokens are stored as offset and kind in five bytes: a file of parentheses
has as many tokens as characters."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final, overload

from msgspec import Struct

from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_SOURCE_TOKENS

# In the order of the alternatives: first what is skipped, then tokens. Repeated groups are possessive, which changes no
# match and saves the memory for backtracking.
_TOKEN = re.compile(
    r"""
  (?:
    (?P<skip>
        [ \t\r\n\f\v\\]+
      | //[^\n\\]*(?:\\.[^\n\\]*)*+            # a backslash at the end continues a line comment
      | /\*.*?(?:\*/|\Z)
      | (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)
      | (?:u8|[uUL])?'[^'\\\n]*(?:\\.[^'\\\n]*)*+'?
    )
  | (?P<string>(?:u8|[uUL])?"[^"\\\n]*(?:\\.[^"\\\n]*)*+"?)
  | (?P<include>\#[ \t]*(?:include|include_next|import)[ \t]*(?:<[^<>\n]{0,512}>|"[^"\n]{0,512}"))
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*+)
  | (?P<mark>::|->|[^\w\s"'/\#:.\-]{2,}+|.)
  )
  [ \t\r\n\f\v\\]*+                           # what is skipped anyhow, at the price of no match
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)
_GROUPS = _TOKEN.groupindex
_SKIP, _DELIMITER, _STRING_GROUP = _GROUPS["skip"], _GROUPS["delimiter"], _GROUPS["string"]
_NAME_GROUP, _MARK_GROUP = _GROUPS["name"], _GROUPS["mark"]
# Matches between two checks of the number of tokens.
_STEP = 1 << 16

# Kinds as bytes of `Tokens.kinds`. A punctuation token is its own character.
NAME: Final = ord("a")
NUMBER: Final = ord("0")
STRING: Final = ord('"')
INCLUDE: Final = ord("i")
SCOPE: Final = ord("s")
ARROW: Final = ord("p")
# A non-ASCII character.
OTHER: Final = ord("o")
_KIND_OF_GROUP = {_GROUPS["include"]: INCLUDE, _GROUPS["number"]: NUMBER, _STRING_GROUP: STRING}
_KIND_OF_MARK = {"::": SCOPE, "->": ARROW, **{chr(code): code for code in range(128)}}
_WRITTEN = [{SCOPE: "::", ARROW: "->"}.get(code, chr(code)) for code in range(128)]
_NAMED_KINDS = {NAME: "name", NUMBER: "number", STRING: "string", INCLUDE: "include"}


_NAME = re.compile(r"\w*", re.ASCII)
# Length of runs of punctuation, such as `((`, that are cached: most files have few different ones.
_SHORT_RUN = 8
_MAX_SHORT_RUNS = 1_000
# Kinds that are no punctuation.
WORDS: Final = frozenset({NAME, NUMBER, STRING, INCLUDE})
_OTHERS: Final = frozenset({NUMBER, STRING, INCLUDE, OTHER})


class Token(Struct, frozen=True):
    """A token.

    Attributes:
        kind: `name`, `number`, `mark`, `include`, or on request `string`.
        text: as written; only the path of an include.
        at: character offset.
    """

    kind: str
    text: str
    at: int


class Tokens(Sequence[Token]):
    """The tokens of a text, created on access.

    Attributes:
        source: the text.
        starts: character offsets.
        kinds: one byte per token, see above.
    """

    __slots__ = ("kinds", "source", "starts")

    def __init__(self, source: str, starts: array[int], kinds: bytearray) -> None:
        self.source = source
        self.starts = starts
        self.kinds = kinds

    def __len__(self) -> int:
        return len(self.kinds)

    @overload
    def __getitem__(self, at: int) -> Token: ...
    @overload
    def __getitem__(self, at: slice) -> Tokens: ...
    def __getitem__(self, at: int | slice) -> Token | Tokens:
        if isinstance(at, slice):
            return Tokens(self.source, self.starts[at], self.kinds[at])
        kind = self.kinds[at]
        return Token(_NAMED_KINDS.get(kind, "mark"), self.word(at), self.starts[at])

    def __iter__(self) -> Iterator[Token]:
        # Most tokens are names and marks, created here without further calls.
        source, name, written = self.source, _NAME.match, _WRITTEN
        for at, (kind, start) in enumerate(zip(self.kinds, self.starts, strict=True)):
            if kind == NAME:
                yield Token("name", name(source, start)[0], start)  # type: ignore[index]
            elif kind in _OTHERS:
                yield self[at]
            else:
                yield Token("mark", written[kind], start)

    def word(self, at: int) -> str:
        """The text of one token."""
        kind = self.kinds[at]
        if kind == NAME:
            return _NAME.match(self.source, self.starts[at])[0]  # type: ignore[index]
        if kind not in WORDS and kind != OTHER:
            return _WRITTEN[kind]
        start = self.starts[at]
        if kind == OTHER:
            return self.source[start]
        match = _TOKEN.match(self.source, start)
        word = match[match.lastindex]  # type: ignore[index, union-attr]
        return re.split(r'[<"]', word, maxsplit=1)[1][:-1] if kind == INCLUDE else word

    def index_at(self, offset: int) -> int | None:
        """The index of the token at a character offset; None if no token starts there."""
        at = bisect_left(self.starts, offset)
        return at if at < len(self.starts) and self.starts[at] == offset else None

    def between(self, first: int, last: int) -> Tokens:
        """The tokens that begin between two character offsets."""
        at = bisect_left(self.starts, first)
        return self[at : bisect_left(self.starts, last, at)]

    def names(self, meant: re.Pattern[str]) -> Iterator[int]:
        """The indices of the names that a pattern matches, in order.

        Args:
            meant: matches whole identifiers.
        """
        for match in meant.finditer(self.source):
            at = self.index_at(match.start())
            if at is not None and self.kinds[at] == NAME:
                yield at

    def without_strings(self) -> Tokens:
        """The tokens without string literals."""
        kept = Tokens(self.source, array("I"), bytearray())
        at = 0
        while at < len(self.kinds):
            end = self.kinds.find(STRING, at)
            kept.take(self, at, len(self.kinds) if end < 0 else end)
            at = len(self.kinds) if end < 0 else end + 1
        return kept

    def take(self, other: Tokens, first: int, last: int) -> None:
        """Append `other[first:last]`, tokens of the same text."""
        self.starts.extend(other.starts[first:last])
        self.kinds += other.kinds[first:last]


class TokenList(list[Token]):
    """The tokens of a text as a list: faster for many lookups, with more memory."""

    def __init__(self, found: Tokens) -> None:
        super().__init__(found)
        self.starts = found.starts
        self.kinds = found.kinds
        self.index_at = found.index_at

    def word(self, at: int) -> str:
        """See `Tokens.word`."""
        return self[at].text


def word_at(text: str, at: int) -> str:
    """The name at a character offset."""
    match = _NAME.match(text, at)
    return "" if match is None else match[0]


def tokens(text: str, *, strings: bool = False, path: str = "source") -> Tokens:
    """Tokenize a source file in time linear in its length, whatever it contains.

    Args:
        strings: whether to include string literals (never raw ones).
        path: of the file, for the message.

    Raises:
        UnreadableFile: there are more than `MAX_SOURCE_TOKENS`.
    """
    starts, kinds = array("I"), bytearray()
    add, add_kind = starts.append, kinds.append
    matches = _TOKEN.finditer(text)
    left_out = (_SKIP, _DELIMITER) if strings else (_SKIP, _DELIMITER, _STRING_GROUP)
    short_runs: dict[str, bytes] = {}

    def kinds_of(marks: str) -> bytes:
        made = bytes(_KIND_OF_MARK.get(mark, OTHER) for mark in marks)
        if len(marks) <= _SHORT_RUN and len(short_runs) < _MAX_SHORT_RUNS:
            short_runs[marks] = made
        return made

    end = 0
    while end < len(text):
        for match in islice(matches, _STEP):
            group = match.lastindex
            if group in left_out:
                continue
            if group == _NAME_GROUP:
                add(match.start())
                add_kind(NAME)
            elif group == _MARK_GROUP:
                start, marks = match.start(), match[_MARK_GROUP]
                kind = _KIND_OF_MARK.get(marks)
                if kind is not None:
                    add(start)
                    add_kind(kind)
                else:  # a run: one token per character
                    starts.extend(range(start, start + len(marks)))
                    kinds += short_runs.get(marks) or kinds_of(marks)
            else:
                add(match.start())
                add_kind(_KIND_OF_GROUP[group])  # type: ignore[index]
        end = match.end()
        if len(kinds) > MAX_SOURCE_TOKENS:
            raise UnreadableFile(path, f"more than {MAX_SOURCE_TOKENS} tokens: too large to be read as a source")
    return Tokens(text, starts, kinds)
