"""Detects whether a text says that torch was built from source, whatever its version is."""

from __future__ import annotations

import re
from typing import Final

# torch itself: not torch-scatter, torchvision, PyTorch Scatter.
_TORCH: Final = r"(?<![\w/.-])(?:[Pp]y)?[Tt]orch(?![\w./-]| (?!Then|And|So|But|With|From)[A-Z][a-z])"
_VERSION: Final = r"(?: v?\d[\w.+]{0,32})?"
_MADE: Final = r"(?:builds?|built|building|compiled?|compiles|compiling|installed)"
_SOURCE: Final = "\u4ece\u6e90(?:\u7801|\u4ee3\u7801)"
_BUILD: Final = "(?:\u7f16\u8bd1|\u6784\u5efa|\u7f16(?=[\u7684\u4e86\u8fc7\u51fa])| ?build(?= |[^\\x00-\\x7f]))"
_SELF: Final = "(?:\u81ea\u5df1|\u81ea\u884c|\u624b\u52a8|\u672c\u5730|\u6e90\u7801|\u6e90\u4ee3\u7801|\u81ea)"
_PATTERNS: Final = (
    re.compile(
        rf"{_TORCH}{_VERSION}(?: \(?(?:was|is|has|been|had|that|which|I|we)\b){{0,4}} {_MADE}(?: \w{{1,16}}){{0,2}} "
        r"(?:from (?:the )?sources?|by (?:myself|ourselves|hand))\b",
        re.ASCII,
    ),
    re.compile(
        rf"{_MADE} (?:(?:my|our|own|the|custom|a) ){{0,2}}{_TORCH}{_VERSION}(?: (?!from)\w{{1,16}}){{0,2}} "
        r"(?:from (?:the )?sources?|myself|ourselves|by hand|on my own)\b",
        re.ASCII,
    ),
    re.compile(rf"(?:[Ss]ource|[Ss]elf|[Cc]ustom|[Ll]ocally)[- ](?:built|compiled) {_TORCH}", re.ASCII),
    re.compile(rf"(?:[Oo]wn|[Cc]ustom|[Ss]ource|[Ll]ocal) (?:build|compilation) of {_TORCH}", re.ASCII),
    re.compile(
        rf"{_TORCH}{_VERSION}(?: ?\(|,|:) ?(?:(?:my|our|a|own) ){{0,2}}(?:local|source|custom) build\b(?! of\b)",
        re.ASCII,
    ),
    re.compile(
        rf"(?:{_SOURCE}(?:\u5b89\u88c5|{_BUILD})|{_SELF}{_BUILD})(?:\u5b89\u88c5| ?\u51fa\u6765)?"
        rf" ?[\u4e86\u7684\u8fc7]? ?{_TORCH}",
        re.ASCII,
    ),
    re.compile(
        rf"{_TORCH} ?(?:v?\d[\w.+]{{0,32}} ?)?[(\uff08]?"
        rf"[^\n\x00-\x7f\u3002\uff0c\uff1b\u3001\u548c\u4e0e\u8ddf\u53ca]{{0,4}}"
        rf"(?:{_SOURCE}|{_SELF}){_BUILD}",
        re.ASCII,
    ),
    # tools/generate_torch_version.py of pytorch; no other package has `git` before the commit.
    re.compile(r"(?<![\w.])[12]\.\d{1,2}\.\d{1,2}a0\+git(?:[0-9a-f]{6,40}|[Uu]nknown)?\b", re.ASCII),
)
# Just before, in the same clause: it was not built so, or is still to be built.
_NOT_SO: Final = re.compile(
    r"n't\b|\b(?:not|never|without|rather than|instead of|how to|tutorial|guide|wants? to|going to|plan to|unless)\b"
    r"|\b(?:needs? an?|if you)\b"
    r"|\u6559\u7a0b|\u6307\u5357|(?:\u5982\u4f55|\u600e\u4e48|\u600e\u6837)[^\x00-\x7f]{0,4}\Z"
    r"|(?:[\u4e0d\u6ca1\u672a\u60f3]|\u6ca1\u6709|\u4e0d\u662f|\u5e76\u975e|\u65e0\u9700|\u4e0d\u7528|\u51c6\u5907|\u6253\u7b97)"
    r"[^\x00-\x7f]?\Z",
    re.ASCII | re.IGNORECASE,
)
_NOT_WITHIN: Final = re.compile("[\u4e0d\u6ca1\u672a]")
_CLAUSE: Final = re.compile(r"[^\n.,;!?\u3002\uff0c\uff1b\uff01\uff1f\u3001]{0,16}\Z")
# The release after the words: `, v2.1.0`, `(python setup.py install) 2.1.0`; no other number, such as a CUDA release.
_RELEASE: Final = re.compile(
    r" ?(?:\u51fa\u6765)?[\u4e86\u7684\u8fc7]?[ ,(:\uff1a\uff08\uff0c]{0,3}(?:\(?python setup\.py \w{1,16}\)[ ,]{0,2})?"
    r"(?:(?:tag|version|release|\u7248\u672c) ?)?v?([12]\.\d{1,2}(?:\.\d|(?= ?(?:[+,;(\n]|\Z))))"
    r"(?![\w+-]|\.\d| version\b| of\b| ?->| [Tt]orch[-_])",
    re.ASCII,
)
_WORDS: Final = (
    *("ource", "\u6e90", "\u7f16", "\u6784\u5efa", "elf", "ustom", "own", "ocal", "by hand", "a0+git"),
    *("\u81ea\u5df1", "\u672c\u5730"),
)


def find_source_build(text: str) -> str | None:
    """The words of a text that say that torch (not an extension) was built from source; linear in its length."""
    found = _find(text)
    return None if found is None else found[0]


def find_source_release(text: str) -> str | None:
    """The release directly after these words: `2.1.0`."""
    found = _find(text)
    after = None if found is None else _RELEASE.match(text, found.end())
    return None if after is None else after[1]


def _find(text: str) -> re.Match[str] | None:
    if not any(word in text for word in _WORDS):
        return None
    for pattern in _PATTERNS:
        for found in pattern.finditer(text):
            before = _CLAUSE.search(text, max(0, found.start() - 16), found.start())
            if _NOT_WITHIN.search(found[0]) is None and (before is None or _NOT_SO.search(before[0]) is None):
                return found
    return None
