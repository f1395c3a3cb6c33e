"""Names of torch in a source: macros, names with their scopes (`at::cuda::getCurrentCUDAStream`), and members that are
called on tensors (`at::Tensor::sizes`)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator

from abiscan.source.code import Code
from abiscan.source.lexer import Token, tokens
from abiscan.source.object_types import ObjectTypes
from abiscan.source.source_set import SourceSet, with_included

# Maximum number of scopes before a name; no word has more.
_MAX_SCOPES = 5
_MORE_STEPS = 4
# Before a name that a directive defines or tests.
_TESTED = re.compile(r"(?:#[ \t]*(?:ifdef|ifndef|define|undef)|\bdefined[ \t]*\(?)[ \t]*\Z", re.ASCII)
_MAX_DIRECTIVE = 40
# `.name(`, `->name<`
MEMBER_CALL = re.compile(rb"[.p]a(?=[(<])")


def lines_of_names(code: Code, others: SourceSet, meant: Callable[[str], str | None]) -> dict[str, tuple[int, ...]]:
    """Word -> lines of a file that use it, without duplicates; sorted by word.

    Args:
        others: finds included files.
        meant: the word for a name as written; None to skip it.

    Raises:
        UnreadableFile: the declarations of the file take too many steps.
    """
    ends = [at for at, char in enumerate(code.text) if char == "\n"]
    unit = list(with_included(code, others))
    found: dict[str, dict[int, None]] = {}
    for name, at in (*_qualified(code.text), *_members(code, others)):
        word = meant(name)
        if word is None or _TESTED.search(code.text, max(at - _MAX_DIRECTIVE, 0), at):
            continue
        # Macros of the project itself are not those of torch.
        if "::" in name or all(each.macro(name) is None for each in unit):
            found.setdefault(word, {})[bisect_right(ends, at - 1) + 1] = None
    return {word: tuple(sorted(lines)) for word, lines in sorted(found.items())}


def _members(code: Code, others: SourceSet) -> Iterator[tuple[str, int]]:
    """Every member that is called on a tensor, with its character offset."""
    types = ObjectTypes(code, others)
    # Rules look up the few members that they know, this every one.
    code.steps.left *= _MORE_STEPS
    found = code.unquoted
    for match in MEMBER_CALL.finditer(found.kinds):
        at = match.start() + 1
        if types.class_of(found.starts[at]) == "at::Tensor":
            yield f"at::Tensor::{found.word(at)}", found.starts[at]


def _qualified(text: str) -> Iterator[tuple[str, int]]:
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
