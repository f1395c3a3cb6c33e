"""The output formats. Each is a pure function from a `Report` to text, in a module of its own.

Modules are imported only when their format is requested; a plain scan imports only `text`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.errors import UsageError
from abiscan.model.report import Report

if TYPE_CHECKING:
    from abiscan.model.compat_report import CompatReport
    from abiscan.model.history import RunSummary


class Format(Struct, frozen=True):
    """One row of `FORMATS`.

    Attributes:
        module: has `render(report) -> str`.
        escape: function of `escape` that makes the whole text safe for the program that displays it; empty if the
            module does.
    """

    module: str
    escape: str = "safe_text"


FORMATS: dict[str, Format] = {
    "text": Format("abiscan.report.text"),
    "concise": Format("abiscan.report.concise"),
    "statistics": Format("abiscan.report.statistics"),
    "json": Format("abiscan.report.json_report", "safe_json"),
    "ndjson": Format("abiscan.report.ndjson", "safe_json"),
    "sarif": Format("abiscan.report.sarif", "safe_json"),
    "junit": Format("abiscan.report.junit", "safe_markup"),
    "github": Format("abiscan.report.github", ""),
    "markdown": Format("abiscan.report.markdown"),
    "html": Format("abiscan.report.html", "safe_markup"),
}


def render(name: str, report: Report) -> str:
    """`report` in the format `name`.

    Raises:
        UsageError: unknown format.
    """
    row = FORMATS.get(name)
    if row is None:
        raise UsageError(f"no format is called {name!r}; there are {', '.join(FORMATS)}")
    function: Callable[[Report], str] = importlib.import_module(row.module).render
    return _safe(row, function(report))


def page(report: Report, together: CompatReport | None, history: Sequence[RunSummary] = ()) -> str:
    """The HTML page, with data that one report does not contain: see `html.render`."""
    from abiscan.report import html

    return _safe(FORMATS["html"], html.render(report, together, history))


def _safe(row: Format, text: str) -> str:
    """Escape text in the format, so that names in the report cannot control the program that displays it."""
    from abiscan.report import escape

    function: Callable[[str], str] | None = getattr(escape, row.escape, None)
    return text if function is None else function(text)
