"""The page of a comparison: a `Sheet` in the style of the page of a scan."""

from __future__ import annotations

from abiscan import __version__
from abiscan.model.words import cut
from abiscan.report.html.document import document
from abiscan.report.sheet import Sheet
from abiscan.report.text_table import DETAILS, Tone

_VERDICTS = {Tone.BAD: "fail", Tone.GOOD: "pass", Tone.DOUBT: "incomplete", Tone.PLAIN: "plain"}
# The meaning of a row's colour, as text.
_WORDS = {Tone.BAD: "fails", Tone.GOOD: "passes", Tone.DOUBT: "undecided", Tone.PLAIN: ""}
# Maximum characters of the title in browser tab and history.
_TITLE = 100


def page(sheet: Sheet) -> str:
    """One self-contained HTML page, ending in a newline.

    Raises:
        UsageError: Jinja2 is not installed.
    """
    made = document(
        "sheet.html",
        {},
        sheet=sheet,
        title=cut(sheet.headline, _TITLE),
        verdict=_VERDICTS[sheet.tone],
        tables=[table for table in sheet.tables if table.rows],
        words=_WORDS,
        most=DETAILS,
        version=__version__,
    )
    return f"{made}\n"
