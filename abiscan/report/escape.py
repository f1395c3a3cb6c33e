"""Names from files, made safe to print: a symbol name can hold anything but a zero byte."""

from __future__ import annotations

import re
import unicodedata

# Control, format (bidirectional overrides among them), surrogate, private use, unassigned; line and paragraph ends.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str) -> str:
    """`text` with every character that could steer a terminal or hide itself written as an escape (`\\x1b`).

    Bytes that are no UTF-8 (kept by the readers as lone surrogates) become `\\xNN`, so nothing is lost.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if unicodedata.category(c) not in _UNSAFE else _escape(c) for c in text)


def printable_lines(text: str) -> str:
    """`text` made `printable` line by line: its line feeds stay."""
    return "\n".join(printable(line) for line in text.split("\n"))


def code_fence(text: str) -> str:
    """Backticks that open and close a Markdown code block which nothing in `text` can close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


def _escape(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"\\x{code - 0xDC00:02x}"
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
