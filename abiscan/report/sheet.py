"""Sheets: the result of a command as headline, tables and notes, rendered as text or Markdown.

`diff_sheet.py` and similar modules make the sheets; `html/sheet_page.py` renders them as HTML.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator

from msgspec import Struct

from abiscan.report.escape import printable
from abiscan.report.markdown import code, fenced, plain
from abiscan.report.style import Style, wrap

# Details below a row without -v and with one; limit of the HTML page.
_DETAILS, DETAILS = (0, 20), 1000
_CELL = 60
_BAR = 20
# Columns that the last cell needs to be wrapped below its beginning.
_PROSE = 36


class Tone(enum.Enum):
    """Meaning of a row or headline, shown as a colour."""

    BAD = "red"
    GOOD = "green"
    DOUBT = "amber"
    PLAIN = ""


# Tones of the rows that -q prints.
_FAILURES = (Tone.BAD, Tone.DOUBT)


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


class Sheet(Struct, frozen=True):
    """The result of a command.

    Attributes:
        word: the result in one word; headline: in one sentence.
        notes: sentences below the tables.
        commands: (sentence, command to copy), below the tables.
        done: finished fraction, for a progress bar; None if there is nothing to do.
    """

    word: str
    headline: str
    tone: Tone
    tables: tuple[Table, ...]
    notes: tuple[str, ...] = ()
    commands: tuple[tuple[str, str], ...] = ()
    done: float | None = None

    @property
    def percent(self) -> int | None:
        """The finished fraction in percent, rounded down."""
        return None if self.done is None else int(self.done * 100)


def bar(sheet: Sheet) -> list[str]:
    """`[#####---------------] 25 %`; full only at 100 %."""
    if sheet.done is None:
        return []
    filled = int(sheet.done * _BAR)
    return [f"[{'#' * filled}{'-' * (_BAR - filled)}] {sheet.percent} %"]


# --- text -------------------------------------------------------------------------------------------------------


def text(sheet: Sheet, style: Style) -> str:
    """Text for a terminal, ending in a newline; with -q empty if nothing fails."""
    if style.quiet and sheet.tone not in _FAILURES:
        return ""
    lines = wrap(sheet.headline, style, style.paint(sheet.word, sheet.tone.value) + " ", "  ")
    lines += (f"  {style.paint(each, sheet.tone.value)}" for each in bar(sheet))
    for table in sheet.tables:
        if not table.rows:
            continue
        if table.title:
            lines += ["", style.strong(printable(table.title))]
        lines += _text_table(table, style)
    for sentence, command in sheet.commands:
        lines += ["", *wrap(sentence, style, "", "  ")]
        if command:
            lines.append(f"  {printable(command)}")
    if sheet.notes:
        lines.append("")
    for note in sheet.notes:
        lines += wrap(note, style, "note: ", "  ")
    return "\n".join(lines) + "\n"


def _text_table(table: Table, style: Style) -> Iterator[str]:
    rows = [row for row in table.rows if (row.tone in _FAILURES if style.quiet else style.verbose or not row.minor)]
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
        yield style.dim("  ".join(["", *cells, table.columns[-1]]).rstrip())
    for row, cells_shown in zip(rows, shown, strict=True):
        cells = [pad(cell, width) for cell, width, pad in zip(cells_shown, widths, pads, strict=True)]
        if row is table.total:
            cells = [style.strong(cell) for cell in cells]
        elif cells:
            cells[0] = style.paint(cells[0], row.tone.value)
        start = sum(widths) + 2 * len(widths) + 2
        indent = " " * (start if (style.width or start) - start >= _PROSE else min(start, 24))
        yield from (line.rstrip() for line in wrap(row.cells[-1], style, "  ".join(["", *cells, ""]), indent))
        if style.verbose:
            limit = style.limit(*_DETAILS)
            for detail in row.details[:limit]:
                yield from wrap(detail, style, "      ", "        ", chop=style.verbose == 1)
            if len(row.details) > limit:
                yield f"      {len(row.details) - limit} more ({style.more})"
    if hidden:
        yield style.dim(f"  {hidden} {'more ' if rows else ''}row{'s' * (hidden > 1)} without an action (-v)")


# --- Markdown ---------------------------------------------------------------------------------------------------


def markdown(sheet: Sheet) -> str:
    """GitHub Markdown for a job summary or review comment, ending in a newline."""
    marks = {Tone.BAD: "❌ ", Tone.GOOD: "✅ ", Tone.DOUBT: "⚠ ", Tone.PLAIN: ""}
    parts = [f"## abiscan: {marks[sheet.tone]}{plain(sheet.word)}", plain(sheet.headline)]
    if sheet.done is not None:
        parts.append(f"**{sheet.percent} %** done")
    for table in sheet.tables:
        if not table.rows:
            continue
        if table.title:
            parts.append(f"### {plain(table.title)}")
        head = [plain(name) for name in table.columns]
        rows = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
        for row in table.all_rows:
            *cells, last = row.cells
            shown = [code(cell) if cell else "" for cell in cells]
            rows.append(f"| {' | '.join([*shown, marks[row.tone] + plain(last)])} |")
        parts.append("\n".join(rows))
    for sentence, command in sheet.commands:
        parts.append(plain(sentence))
        if command:
            parts.append(fenced(command))
    if sheet.notes:
        parts.append("\n".join(f"- {plain(note)}" for note in sheet.notes))
    return "\n\n".join(parts) + "\n"
