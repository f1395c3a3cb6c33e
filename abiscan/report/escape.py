"""Names from files, made safe to print: a symbol name can hold anything but a zero byte."""

from __future__ import annotations

import re

# Control, format (bidirectional overrides among them), surrogate, private use, unassigned; line and paragraph ends.
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


def printable(text: str) -> str:
    """`text` with every character that could steer a terminal or hide itself written as an escape (`\\x1b`).

    Bytes that are no UTF-8 (kept by the readers as lone surrogates) become `\\xNN`, so nothing is lost.
    """
    if text.isascii() and text.isprintable():
        return text
    import unicodedata

    return "".join(c if unicodedata.category(c) not in _UNSAFE else _escape(c) for c in text)


def printable_lines(text: str) -> str:
    """`text` made `printable` line by line: its line feeds stay."""
    return "\n".join(printable(line) for line in text.split("\n"))


# Controls (C1 and DEL), line ends that not every reader knows, and marks that turn the direction of writing.
_INVISIBLE = "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]"
# What a runner of GitHub or Azure takes for a command, in whatever a step prints: `::name` at the start of a line, and
# `##[name]` anywhere.
_COMMAND = r"(?m)^([^\S\n]*):(?=:)"
_OLD_COMMAND = r"##(?=\[)"


def safe_json(text: str) -> str:
    """JSON text that shows what it holds: what is invisible is written as an escape, which reads back the same."""
    if "##[" in text:
        text = text.replace("##[", "##\\u005b")
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_INVISIBLE, lambda match: f"\\u{ord(match[0]):04x}", text)


def safe_markup(text: str) -> str:
    """XML or HTML of which no line is a command to the runner of a CI service that prints it."""
    text = re.sub(_COMMAND, r"\1&#58;", text)
    return re.sub(_OLD_COMMAND, "#&#35;", text) if "##[" in text else text


def safe_text(text: str) -> str:
    """The same for plain text."""
    text = re.sub(_COMMAND, r"\1\\x3a", text)
    return re.sub(_OLD_COMMAND, r"#\\x23", text) if "##[" in text else text


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
