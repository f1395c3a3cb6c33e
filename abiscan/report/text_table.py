"""Tables of a terminal: headings, a last row for all others, numbers aligned to the right."""

from __future__ import annotations

import enum
from collections.abc import Iterator

from msgspec import Struct

from abiscan.report.escape import printable
from abiscan.report.style import Style, wrap

# Details below a row without -v and with one; limit of the HTML page.
_DETAILS, DETAILS = (0, 20), 1000
_CELL = 60
# Columns that the last cell needs to be wrapped below its beginning.
_PROSE = 36


class Tone(enum.Enum):
    """Meaning of a row or headline, shown as a colour."""

    BAD = "red"
    GOOD = "green"
    DOUBT = "amber"
    PLAIN = ""


# Tones of the rows that -q prints.
FAILURES = (Tone.BAD, Tone.DOUBT)


class Row(Struct, frozen=True):
    """A row of a table.

    Attributes:
        cells: text of each column; the last is prose and is wrapped.
        details: lines below the row, only with `-v` and in HTML.
        minor: whether the row is only shown with `-v`, in Markdown and in HTML.
    """

    cells: tuple[str, ...]
    tone: Tone = Tone.PLAIN
    details: tuple[str, ...] = ()
    minor: bool = False


class Table(Struct, frozen=True):
    """Rows with column headings; `title` is empty for the main table. Columns of numbers are aligned to the right.

    Attributes:
        total: the last row, for all others together; None if there is none.
    """

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    title: str = ""
    total: Row | None = None

    @property
    def all_rows(self) -> tuple[Row, ...]:
        """The rows with the total."""
        return self.rows if self.total is None else (*self.rows, self.total)


def text_table(table: Table, style: Style, margin: str = "") -> Iterator[str]:
    """Lines of a table; with -q only failures, without -v only rows that are not minor.

    Args:
        margin: blanks before each line.
    """
    rows = [row for row in table.rows if (row.tone in FAILURES if style.quiet else style.verbose or not row.minor)]
    hidden = 0 if style.quiet else len(table.rows) - len(rows)
    if rows and table.total is not None:
        rows.append(table.total)
    named = bool(rows) and any(table.columns)
    shown = [tuple(printable(cell) for cell in row.cells[:-1]) for row in rows]
    heads = [table.columns[:-1]] if named else []
    columns = list(zip(*shown, strict=True))
    pads = [
        str.rjust if all(map(str.isdecimal, filter(None, cells))) and any(cells) else str.ljust for cells in columns
    ]
    widths = [min(max(map(len, cells)), _CELL) for cells in zip(*heads, *shown, strict=True)] if columns else []
    if named:
        cells = [pad(name, width) for name, width, pad in zip(table.columns, widths, pads, strict=False)]
        yield style.dim("  ".join([margin, *cells, table.columns[-1]]).rstrip())
    for row, cells_shown in zip(rows, shown, strict=True):
        cells = [pad(cell, width) for cell, width, pad in zip(cells_shown, widths, pads, strict=True)]
        if row is table.total:
            cells = [style.strong(cell) for cell in cells]
        elif cells:
            cells[0] = style.paint(cells[0], row.tone.value)
        start = sum(widths) + 2 * len(widths) + 2 + len(margin)
        indent = " " * (start if (style.width or start) - start >= _PROSE else min(start, 24))
        yield from (line.rstrip() for line in wrap(row.cells[-1], style, "  ".join([margin, *cells, ""]), indent))
        if style.verbose:
            limit = style.limit(*_DETAILS)
            for detail in row.details[:limit]:
                yield from wrap(detail, style, "      ", "        ", chop=style.verbose == 1)
            if len(row.details) > limit:
                yield f"      {len(row.details) - limit} more ({style.more})"
    if hidden:
        more = "more " if rows else ""
        yield style.dim(f"{margin}  {hidden} {more}{'row needs' if hidden == 1 else 'rows need'} no change (-v)")
