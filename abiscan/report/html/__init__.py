"""One self-contained HTML page for the person who decides whether a release ships.

`view.py` turns the report into the few values that the template shows, `page_data.py` into those that the script works
on, and `document.py` makes the page. What a page of other answers can use too: `frame.html`, the macros of
`heat_map.html` and `cards.html`, `page.js` and `style.css` (`report/dashboard` is one).
"""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.model.compat_report import CompatReport
from abiscan.model.history import RunSummary
from abiscan.model.report import Report
from abiscan.report.html.document import document
from abiscan.report.html.page_data import data_json
from abiscan.report.html.view import ordered, page_view


def render(report: Report, together: CompatReport | None = None, history: Sequence[RunSummary] = ()) -> str:
    """The page.

    Args:
        together: what each wheel, package and file of the run works on (`compare.set_of`); without it the heat map has
            a row a file.
        history: earlier runs and this one, in their order; none for a page without trends.

    Raises:
        UsageError: Jinja2 is not installed.
    """
    artifacts = ordered(report)
    view = page_view(report, artifacts, together, history)
    return document("page.html", data_json(view, artifacts), view=view)
