"""C++, CUDA and HIP text to tokens: names and punctuation, with comments gone, and literals where not asked for.

Lexical grammar: ISO C++20, clause 5 [lex].
"""

from __future__ import annotations

import re

from msgspec import Struct

# In the order of the alternatives: what must not be looked into, then what is kept.
_TOKEN = re.compile(
    r"""
    (?P<skip>
        [ \t\r\n\f\v\\]+
      | //[^\n\\]*(?:\\.[^\n\\]*)*            # a backslash at the end continues a line comment
      | /\*.*?(?:\*/|\Z)
      | (?:u8|[uUL])?R"(?P<delimiter>[^()\\\s]{0,16})\(.*?(?:\)(?P=delimiter)"|\Z)
      | (?:u8|[uUL])?'[^'\\\n]*(?:\\.[^'\\\n]*)*'?
    )
  | (?P<string>(?:u8|[uUL])?"[^"\\\n]*(?:\\.[^"\\\n]*)*"?)
  | (?P<include>\#[ \t]*(?:include|include_next|import)[ \t]*(?:<[^<>\n]{0,512}>|"[^"\n]{0,512}"))
  | (?P<name>[A-Za-z_]\w*)
  | (?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
  | (?P<mark>::|->|.)
    """,
    re.VERBOSE | re.DOTALL | re.ASCII,
)


class Token(Struct, frozen=True):
    """Attributes:
    kind: `name`, `number`, `mark`, `include`, or `string` where strings were asked for.
    text: as it stands; for an include the path alone.
    at: character offset.
    """

    kind: str
    text: str
    at: int


def tokens(text: str, *, strings: bool = False) -> list[Token]:
    """The tokens of a source file; whatever it holds, this ends, in time linear in its length.

    Args:
        strings: whether string literals are among them (raw ones never are).
    """
    found = []
    for match in _TOKEN.finditer(text):
        kind = match.lastgroup
        if kind is None or kind in ("skip", "delimiter") or (kind == "string" and not strings):
            continue
        word = match.group()
        if kind == "include":
            word = re.split(r'[<"]', word, maxsplit=1)[1][:-1]
        found.append(Token(kind, word, match.start()))
    return found
