"""Sheets: the result of a command as headline, tables and notes, rendered as text or Markdown.

`diff_sheet.py` and similar modules make the sheets; `html/sheet_page.py` renders them as HTML.
"""

from __future__ import annotations

from msgspec import Struct

from abiscan.report.escape import printable
from abiscan.report.markdown import code, fenced, plain
from abiscan.report.style import Style, wrap
from abiscan.report.text_table import FAILURES, Table, Tone, text_table

_BAR = 20


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
    if style.quiet and sheet.tone not in FAILURES:
        return ""
    lines = wrap(sheet.headline, style, style.paint(sheet.word, sheet.tone.value) + " ", "  ")
    lines += (f"  {style.paint(each, sheet.tone.value)}" for each in bar(sheet))
    for table in sheet.tables:
        if not table.rows:
            continue
        if table.title:
            lines += ["", style.strong(printable(table.title))]
        lines += text_table(table, style)
    for sentence, command in sheet.commands:
        lines += ["", *wrap(sentence, style, "", "  ")]
        if command:
            lines.append(f"  {printable(command)}")
    if sheet.notes:
        lines.append("")
    for note in sheet.notes:
        lines += wrap(note, style, "note: ", "  ")
    return "\n".join(lines) + "\n"


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
