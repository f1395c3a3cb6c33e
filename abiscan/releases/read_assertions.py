"""Reads the assertions of torch headers, for the layout index."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from pathlib import Path

from abiscan.releases.assertions import FOLDERS, Assertion

_INVOCATION = re.compile(r"\bTORCH_INTERNAL_ASSERT(?:_DEBUG_ONLY)?\s*\(")
_TOKEN = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[(),]""", re.DOTALL)
_BLANK = re.compile(r"\s+|//[^\n]*|/\*.*?\*/", re.DOTALL)


def read_assertions(include: Path) -> tuple[Assertion, ...]:
    """The assertions of all headers of a build, sorted.

    Args:
        include: `torch/include` of the build.
    """
    found: dict[tuple[str, int, int, int], Assertion] = {}
    for folder in FOLDERS:
        for file in sorted((include / folder).rglob("*")):
            if file.suffix in (".h", ".hpp", ".cuh", ".inc") and file.is_file():
                header = file.relative_to(include).as_posix()
                for each in _read_header(header, file.read_text("utf-8", "replace")):
                    found[each.header, each.first, each.last, each.condition] = each
    return tuple(found[key] for key in sorted(found))


def _read_header(header: str, text: str) -> Iterator[Assertion]:
    for match in _INVOCATION.finditer(text):
        # Within a macro, the line is that of the use of the macro.
        line_start = text.rfind("\n", 0, match.start()) + 1
        if text.startswith("#", line_start) or text[line_start - 2 : line_start - 1] == "\\":
            continue
        depth, condition_end = 1, 0
        for token in _TOKEN.finditer(text, match.end()):
            depth += (token[0] == "(") - (token[0] == ")")
            if not condition_end and (not depth or (token[0] == "," and depth == 1)):
                condition_end = token.start()
            if not depth:
                first = text.count("\n", 0, match.start()) + 1
                last = first + text.count("\n", match.start(), token.start())
                yield Assertion(header, first, last, _sum(text[match.end() : condition_end]))
                break


def _sum(condition: str) -> int:
    return zlib.crc32(_BLANK.sub("", condition).encode("utf-8", "surrogateescape"))
