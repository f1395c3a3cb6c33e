"""How text for a terminal is written: width, colours, how much of it; and lines wrapped to that width."""

from __future__ import annotations

import textwrap

from msgspec import Struct

from abiscan.model.finding import Severity
from abiscan.report.escape import printable


class Style(Struct, frozen=True):
    """How to write: width in columns (None: never wrap, for a pipe), colours, all of it, and the lowest severity that
    fails the run (None for none), which is written in any case."""

    width: int | None = 80
    color: bool = False
    verbose: bool = False
    quiet: bool = False
    fail_on: Severity | None = None

    def fails(self, severity: Severity) -> bool:
        """Whether a finding of this severity fails the run."""
        return severity.at_least(self.fail_on)

    def paint(self, text: str, code: str) -> str:
        """`text` in an ANSI style, where colours are wanted."""
        return f"\x1b[{code}m{text}\x1b[0m" if self.color else text

    def strong(self, text: str) -> str:
        return self.paint(text, "1")

    def dim(self, text: str) -> str:
        return self.paint(text, "2")


def wrap(text: str, style: Style, first: str, rest: str, *, chop: bool = False) -> list[str]:
    """Lines of `text`, made printable, behind `first`, continued behind `rest`. No word that fits on a line is broken.

    With `chop`, a text longer than two lines ends in "...": mangled names run to thousands of characters.
    """
    text = printable(text)
    bare = _visible_length(first)
    if style.width is None:
        limit = 400
        return [first + (text if not chop or len(text) <= limit else text[: limit - 3] + "...")]
    wrapper = textwrap.TextWrapper(
        width=max(style.width, 40),
        initial_indent=" " * bare,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=True,
        max_lines=2 if chop else None,
        placeholder=" ...",
    )
    lines = wrapper.wrap(text) or [" " * bare]
    return [first + lines[0][bare:], *lines[1:]]


def wrap_paragraphs(text: str, width: int | None, indent: str = "") -> list[str]:
    """Prose wrapped; lines that are indented or fenced are code and stay as they are."""
    lines: list[str] = []
    fenced = False
    for block in text.strip("\n").split("\n\n"):
        if lines:
            lines.append("")
        raw = block.splitlines()
        if fenced or any(line.startswith(("    ", "```", "- ", "| ")) for line in raw):
            for line in raw:
                fenced ^= line.startswith("```")
                lines.append(indent + line)
        elif width is None:
            lines.append(indent + " ".join(block.split()))
        else:
            wrapper = textwrap.TextWrapper(
                max(width, 40), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
            )
            lines += wrapper.wrap(" ".join(block.split()))
    return lines


def _visible_length(text: str) -> int:
    length, inside = 0, False
    for character in text:
        if character == "\x1b":
            inside = True
        elif inside:
            inside = character != "m"
        else:
            length += 1
    return length
