"""Finds words in a source: macros, and names with their scopes (`at::cuda::getCurrentCUDAStream`)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

from abiscan.source.lexer import Token, tokens

# Maximum number of scopes before a name; no word has more.
_MAX_SCOPES = 5


def places_of(text: str, meant: Callable[[str], str | None]) -> dict[str, tuple[int, ...]]:
    """Word -> lines of the text that contain it, without duplicates; sorted by word.

    Args:
        meant: the word for a name as written; None to skip it.
    """
    ends = [at for at, char in enumerate(text) if char == "\n"]
    found: dict[str, dict[int, None]] = {}
    for name, at in qualified_names(text):
        word = meant(name)
        if word is not None:
            found.setdefault(word, {})[bisect_right(ends, at - 1) + 1] = None
    return {word: tuple(lines) for word, lines in sorted(found.items())}


def qualified_names(text: str) -> Iterator[tuple[str, int]]:
    """Every name of a source as written, with scopes and character offset; without comments, literals and names of
    included files."""
    chain: list[Token] = []
    joined = False
    for token in tokens(text):
        if token.kind == "mark" and token.text == "::":
            joined = True
            continue
        if token.kind == "name" and joined and chain and len(chain) <= _MAX_SCOPES:
            chain.append(token)
        else:
            if chain:
                yield "::".join(each.text for each in chain), chain[0].at
            chain = [token] if token.kind == "name" else []
        joined = False
    if chain:
        yield "::".join(each.text for each in chain), chain[0].at
