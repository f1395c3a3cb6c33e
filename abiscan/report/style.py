"""Terminal text: width, colours, level of detail, and wrapping."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable

from msgspec import Struct

from abiscan.model.finding import Severity
from abiscan.model.words import counted
from abiscan.report.address import documentation_address
from abiscan.report.escape import printable

# Colours of the 256 of xterm with a contrast of at least 3.9 both on black and on white (WCAG 2.2, "contrast ratio").
# The first 16 are those of the terminal's theme: yellow and green are unreadable on many light ones.
_CODES = {
    "red": "38;5;196",
    "green": "38;5;28",
    "amber": "38;5;130",
    "cyan": "38;5;30",
    "grey": "38;5;243",
    "bold": "1",
}
# Maximum lines of a file by level of detail.
_LINES = (25, 100)
# Characters of a line that is not wrapped.
_LONG = 400


class Style(Struct, frozen=True):
    """Options of the text report.

    Attributes:
        width: columns; None for no wrapping (pipes).
        verbose: number of `-v`.
        quiet: failures only.
        fail_on, accepted: as in `Report`.
        selected: rules that the user asked for: their notes are printed.
    """

    width: int | None = 80
    color: bool = False
    verbose: int = 0
    quiet: bool = False
    fail_on: Severity | None = None
    accepted: tuple[str, ...] = ()
    selected: tuple[str, ...] = ()

    @property
    def more(self) -> str:
        """The option for the next level of detail."""
        return "-vv" if self.verbose else "-v"

    def limit(self, *limits: int) -> int:
        """The limit of the level of detail; none with -vv."""
        return limits[self.verbose] if self.verbose < len(limits) else sys.maxsize

    def fails(self, severity: Severity) -> bool:
        """Whether a finding of this severity fails the run."""
        return severity.at_least(self.fail_on)

    def paint(self, text: str, colors: str) -> str:
        """`text` in colours and weight (`red bold`), if colours are on."""
        if not self.color or not text or not colors:
            return text
        return f"\x1b[{';'.join(_CODES[each] for each in colors.split())}m{text}\x1b[0m"

    def hyperlink(self, text: str, page: str) -> str:
        """`text` as a hyperlink to a page of the documentation (`rules/tensor-data.md`), for terminals that have them
        (OSC 8); only the text without colours, or if the address of the project is unknown."""
        address = documentation_address()
        if not self.color or address is None:
            return text
        return f"\x1b]8;;{address}/{page}\x1b\\{text}\x1b]8;;\x1b\\"

    def left_out(self, number: int, indent: str, what: str = "") -> list[str]:
        """A line for items that are not shown, such as `2 more causes (-v)`; none if all are."""
        words = counted(number, f"more {what}") if what else f"{number} more"
        return [self.dim(f"{indent}{words} ({self.more})")] if number > 0 else []

    def strong(self, text: str) -> str:
        return self.paint(text, "bold")

    def dim(self, text: str) -> str:
        return self.paint(text, "grey")


class LineGroup(Struct, frozen=True):
    """Lines of a file that are shown or left out together.

    Attributes:
        rank: 0 is always shown; groups with the highest rank are left out first.
        head: the group without which these lines are misleading; None if they stand alone.
    """

    rank: int
    lines: list[str]
    head: LineGroup | None = None


def fit_sections(sections: Iterable[LineGroup], style: Style) -> list[str]:
    """The lines of one file in order: at most 25, 100 with -v, all with -vv."""
    found = list(sections)
    total = sum(len(section.lines) for section in found)
    room = style.limit(*_LINES)
    if total <= room:
        return [line for section in found for line in section.lines]
    room -= 1
    shown: dict[int, list[str]] = {}
    for number, section in sorted(enumerate(found), key=lambda each: each[1].rank):
        if section.head is not None and not any(section.head is found[other] for other in shown):
            continue
        if section.rank == 0 or len(section.lines) <= room:
            shown[number] = section.lines[:room]
            room -= len(shown[number])
    lines = [line for number in sorted(shown) for line in shown[number]]
    return [*lines, style.dim(f"  more lines ({style.more})")]


def wrap(text: str, style: Style, first: str, rest: str, *, chop: bool = False) -> list[str]:
    """Lines of `text`, made printable, with prefix `first`, then `rest`. Words are never broken: one that is longer
    than a line, such as a mangled name, has a line of its own.

    With `chop`, text longer than two lines ends in "... (-v)", and so does a word of more than 400 characters.
    """
    text = printable(text)
    bare = _visible_length(first)
    if style.width is None:
        return [first + (_shorten(text, style) if chop else text)]
    if chop:
        text = " ".join(_shorten(word, style) for word in text.split(" "))
    import textwrap  # a report that is not printed to a terminal is not wrapped

    wrapper = textwrap.TextWrapper(
        width=max(style.width, 40),
        initial_indent=" " * bare,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
        max_lines=2 if chop else None,
        placeholder=f" ... ({style.more})",
    )
    lines = wrapper.wrap(text) or [" " * bare]
    if len(lines[0]) > wrapper.width and bare > len(rest):
        return [first.rstrip(), rest + lines[0][bare:], *lines[1:]]
    return [first + lines[0][bare:], *lines[1:]]


def fix_lines(fix: str, style: Style, indent: str = "  ", colors: str = "green bold") -> list[str]:
    """The lines of a fix: the first is wrapped, further ones are commands and stay whole."""
    first, *rest = fix.split("\n")
    lines = wrap(first, style, indent + style.paint("fix: ", colors), indent + "  ")
    return lines + [f"{indent}    {printable(line)}" for line in rest]


def new_fix_lines(fix: str, style: Style, printed: set[str]) -> list[str]:
    """The lines of a fix; nothing if there is none, or if it is printed already.

    Args:
        printed: texts that are printed; this one is added.
    """
    if not fix or fix in printed:
        return []
    printed.add(fix)
    return fix_lines(fix, style)


def _shorten(text: str, style: Style) -> str:
    return text if len(text) <= _LONG else f"{text[: _LONG - 3]}... ({style.more})"


def wrap_paragraphs(text: str, width: int | None, indent: str = "") -> list[str]:
    """Wrapped prose; indented or fenced lines are code and stay unchanged."""
    from abiscan.report.markdown_table import aligned, read_table  # pages of causes have tables, files have none

    lines: list[str] = []
    fenced = False
    for block in text.strip("\n").split("\n\n"):
        if lines:
            lines.append("")
        raw = block.splitlines()
        if table := read_table(block):
            lines += [indent + line for line in aligned(table)]
        elif fenced or any(line.startswith(("    ", "```", "- ", "| ")) for line in raw):
            for line in raw:
                fenced ^= line.startswith("```")
                lines.append(indent + line)
        elif width is None:
            lines.append(indent + " ".join(block.split()))
        else:
            import textwrap

            wrapper = textwrap.TextWrapper(
                max(width, 40), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
            )
            lines += wrapper.wrap(" ".join(block.split()))
    return lines


_INVISIBLE = r"\x1b\[[\d;]*m|\x1b\]8;;[^\x1b]*\x1b\\"


def _visible_length(text: str) -> int:
    return len(re.sub(_INVISIBLE, "", text)) if "\x1b" in text else len(text)
