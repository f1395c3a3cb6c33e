"""The page of a comparison: a `Sheet` in the style of the page of a scan."""

from __future__ import annotations

from msgspec import Struct

from abiscan import __version__
from abiscan.report.escape import printable
from abiscan.report.html.document import document
from abiscan.report.sheet import Sheet
from abiscan.report.text_table import DETAILS, Row, Table, Tone

_VERDICTS = {Tone.BAD: "fail", Tone.GOOD: "pass", Tone.DOUBT: "incomplete", Tone.PLAIN: "plain"}
# The meaning of a row's colour, as text.
_WORDS = {Tone.BAD: "fails", Tone.GOOD: "passes", Tone.DOUBT: "undecided", Tone.PLAIN: ""}
# Maximum characters of the title in browser tab and history.
_TITLE = 100


class _PageRow(Struct, frozen=True):
    """A row. `names`: (column, cell) of all cells but the last, which is `prose`. `count`: number of details."""

    names: tuple[tuple[str, str], ...]
    prose: str
    tone: str
    words: str
    details: tuple[str, ...]
    count: int


class _PageTable(Struct, frozen=True):
    title: str
    columns: tuple[str, ...]
    rows: tuple[_PageRow, ...]


class _PageSheet(Struct, frozen=True):
    word: str
    headline: str
    title: str
    verdict: str
    tables: tuple[_PageTable, ...]
    notes: tuple[str, ...]
    percent: int | None
    commands: tuple[tuple[str, str], ...]


def page(sheet: Sheet) -> str:
    """One self-contained HTML page, ending in a newline.

    Raises:
        UsageError: Jinja2 is not installed.
    """
    headline = printable(sheet.headline)
    view = _PageSheet(
        printable(sheet.word),
        headline,
        headline if len(headline) <= _TITLE else headline[: _TITLE - 1] + "…",
        _VERDICTS[sheet.tone],
        tuple(_table(table) for table in sheet.tables if table.rows),
        tuple(map(printable, sheet.notes)),
        sheet.percent,
        tuple((printable(sentence), printable(command)) for sentence, command in sheet.commands),
    )
    return document("sheet.html", {}, sheet=view, version=__version__) + "\n"


def _table(table: Table) -> _PageTable:
    columns = tuple(map(printable, table.columns))
    return _PageTable(printable(table.title), columns, tuple(_row(row, columns) for row in table.all_rows))


def _row(row: Row, columns: tuple[str, ...]) -> _PageRow:
    *names, prose = map(printable, row.cells)
    details = tuple(map(printable, row.details[:DETAILS]))
    tone = row.tone.name.lower()
    return _PageRow(tuple(zip(columns, names, strict=False)), prose, tone, _WORDS[row.tone], details, len(row.details))
