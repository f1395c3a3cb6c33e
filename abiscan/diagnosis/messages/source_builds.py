"""Detects whether a text says that torch was built from source, whatever its version is."""

from __future__ import annotations

import re
from typing import Final

# torch itself: not torch-scatter, torchvision, PyTorch Scatter.
_TORCH: Final = r"(?<![\w/.-])(?:[Pp]y)?[Tt]orch(?![\w./-]| (?!Then|And|So|But|With|From)[A-Z][a-z])"
_VERSION: Final = r"(?: v?\d[\w.+]{0,32})?"
_MADE: Final = r"(?:builds?|built|building|compiled?|compiles|compiling|installed)"
_SOURCE: Final = "\u4ece\u6e90(?:\u7801|\u4ee3\u7801)"
_BUILD: Final = "(?:\u7f16\u8bd1|\u6784\u5efa)"
_PATTERNS: Final = (
    re.compile(
        rf"{_TORCH}{_VERSION}(?: \(?(?:was|is|has|been|had|that|which|I|we)\b){{0,4}} {_MADE}(?: \w{{1,16}}){{0,2}} "
        r"from (?:the )?sources?\b",
        re.ASCII,
    ),
    re.compile(
        rf"{_MADE} (?:(?:my|our|own|the|custom) ){{0,2}}{_TORCH}{_VERSION}(?: \w{{1,16}}){{0,2}} "
        r"from (?:the )?sources?\b",
        re.ASCII,
    ),
    re.compile(rf"(?:[Ss]ource|[Ss]elf)[- ](?:built|compiled) {_TORCH}", re.ASCII),
    re.compile(rf"{_SOURCE}{_BUILD}(?:\u5b89\u88c5)?[\u4e86\u7684]? ?{_TORCH}", re.ASCII),
    re.compile(rf"{_TORCH} ?(?:\d[\w.+]{{0,32}} ?)?[^\n\x00-\x7f]{{0,4}}{_SOURCE}{_BUILD}", re.ASCII),
)


def find_source_build(text: str) -> str | None:
    """The words of a text that say that torch (not an extension) was built from source; linear in its length."""
    if "source" not in text and "\u6e90" not in text:
        return None
    found = next(filter(None, (pattern.search(text) for pattern in _PATTERNS)), None)
    return None if found is None else found[0]
