"""The vocabulary of output, documentation, docstrings and comments: no phrase that tools/glossary.toml replaces."""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.glossary_docs import terms

# The files of the repository are the same for every Python.
pytestmark = pytest.mark.one_python

ROOT = Path(__file__).parents[1]
_WORDS = tomllib.loads((ROOT / "tests" / "data" / "words.toml").read_text(encoding="utf-8"))
PHRASES, PROSE_PHRASES = _WORDS["phrases"], _WORDS["prose_phrases"]


def _pattern(phrases: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, phrases))})(?!\w)", re.IGNORECASE)


BANNED = _pattern([*PHRASES, *(each for term in terms() for each in term.avoid)])
BANNED_IN_PROSE = _pattern([*PHRASES, *PROSE_PHRASES, *(each for term in terms() for each in term.avoid)])


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from _strings(each)


@functools.lru_cache(maxsize=1)
def _constants(path: Path) -> tuple[list[str], list[str]]:
    """String literals, and docstrings with those of attributes."""
    literals: list[str] = []
    docstrings: dict[int, str] = {}
    # A statement comes before its value.
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings[id(node.value)] = node.value.value
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docstrings:
            literals.append(node.value)
    return literals, list(docstrings.values())


def _prose(path: Path) -> Iterator[str]:
    """Docstrings, those of attributes included, and blocks of comment lines, without `code`."""
    source = path.read_text(encoding="utf-8")
    blocks = list(_constants(path)[1])
    last = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline) if "#" in source else ():
        if token.type == tokenize.COMMENT:
            text = token.string.removeprefix("#")
            if token.start[0] == last + 1:
                blocks[-1] += text
            else:
                blocks.append(text)
            last = token.start[0]
    for block in blocks:
        yield " ".join(re.sub(r"`[^`\n]+`", "", block).split())


def _texts(path: Path) -> Iterator[str]:
    if path.suffix == ".py":
        yield from _constants(path)[0]
    elif path.suffix == ".toml":
        # Texts of other programs are quoted as they are.
        for key, value in tomllib.loads(path.read_text(encoding="utf-8")).items():
            for row in value if isinstance(value, list) else [value]:
                kept = row if not isinstance(row, dict) else {k: v for k, v in row.items() if k not in _QUOTED}
                if key not in _QUOTED:
                    yield from _strings(kept)
    else:
        # A page may wrap a line within a phrase, and may name a key that was renamed.
        yield " ".join(re.sub(r"`[^`\n]+`", "", path.read_text(encoding="utf-8")).split())


_QUOTED = ("anchors", "examples", "example", "requires", "unless", "before", "after", "line")

FILES = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "action.yml", "abiscan/**/*.py", "abiscan/**/*.toml", "abiscan/**/*.html")
    for path in ROOT.glob(pattern)
)


@pytest.mark.parametrize("name", FILES)
def test_no_phrase_that_the_glossary_replaces(name: str) -> None:
    path = ROOT / name
    assert [match[0] for text in _texts(path) for match in BANNED.finditer(text)] == []
    if path.suffix == ".py":
        assert [match[0] for text in _prose(path) for match in BANNED_IN_PROSE.finditer(text)] == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2 imports cannot be bound on torch 2.15.0", ["cannot be bound"]),
        ("not on 1.13.0-2.3.1 names came later", ["names came later"]),
        ("resolved; compatible with torch 2.8.0", []),
        ("foretold and is told", ["foretold", "is told"]),
        ("the very build, everything said", ["the very"]),
    ],
)
def test_the_pattern(text: str, found: list[str]) -> None:
    """The sentences of the report that this test was written for, and their replacements."""
    assert BANNED.findall(text) == found
