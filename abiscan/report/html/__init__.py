"""One self-contained HTML page for the person who decides on a release.

`view.py` computes the values for the template, `page_data.py` those for the script, and `document.py` makes the page.
Other pages (`report/dashboard`) share `frame.html`, the macros of `heat_map.html` and `cards.html`, `page.js` and
`style.css`."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.model.compat_report import CompatReport
from abiscan.model.history import RunSummary
from abiscan.model.report import Report
from abiscan.report.html.document import document
from abiscan.report.html.page_data import page_data
from abiscan.report.html.view import ordered, page_view


def render(report: Report, together: CompatReport | None = None, history: Sequence[RunSummary] = ()) -> str:
    """Render the page.

    Args:
        together: compatibility of each wheel, package and file (`compare.run_summary`); without it the heat map has one
            row per file.
        history: earlier runs and this one, in order; empty for a page without trends.

    Raises:
        UsageError: Jinja2 is not installed.
    """
    artifacts = ordered(report)
    view = page_view(report, artifacts, together, history)
    return document("page.html", page_data(view, artifacts), view=view)
