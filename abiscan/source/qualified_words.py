"""Where a source has one of some words: macros, and names with their scopes (`at::cuda::getCurrentCUDAStream`)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator

from abiscan.source.lexer import Token, tokens

# Scopes before a name that are read; no word has more.
_MAX_SCOPES = 5


def places_of(text: str, meant: Callable[[str], str | None]) -> dict[str, tuple[int, ...]]:
    """Each word that stands in the text -> its lines, each once; sorted by word.

    Args:
        meant: the word that a name as it is written stands for; None for a name that is of no interest.
    """
    ends = [at for at, char in enumerate(text) if char == "\n"]
    found: dict[str, dict[int, None]] = {}
    for name, at in qualified_names(text):
        word = meant(name)
        if word is not None:
            found.setdefault(word, {})[bisect_right(ends, at - 1) + 1] = None
    return {word: tuple(lines) for word, lines in sorted(found.items())}


def qualified_names(text: str) -> Iterator[tuple[str, int]]:
    """Every name of a source as it is written, scopes included, with its character offset; comments, literals and the
    names of included files are none."""
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
