"""The formats: each a pure function from a `Report` to text, in a module of its own.

Rows name a module, which is imported only when its format is asked for; a plain scan pays for `text` alone.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from msgspec import Struct

from abiscan.errors import UsageError
from abiscan.model.report import Report


class Format(Struct, frozen=True):
    """One row of `FORMATS`.

    Attributes:
        module: where its `render(report) -> str` is.
        media_type: as in the IANA registry where there is one.
        suffix: of a file that holds it, dot included.
        summary: a few words for `--help`.
    """

    module: str
    media_type: str
    suffix: str
    summary: str


FORMATS: dict[str, Format] = {
    "text": Format("abiscan.report.text", "text/plain", ".txt", "for a person at a terminal"),
    "json": Format("abiscan.report.json_v1", "application/json", ".json", "everything, by `abiscan schema`"),
    "ndjson": Format("abiscan.report.ndjson", "application/x-ndjson", ".ndjson", "a line per artifact, for dashboards"),
    "sarif": Format("abiscan.report.sarif", "application/sarif+json", ".sarif", "for code scanning"),
    "junit": Format("abiscan.report.junit", "application/xml", ".xml", "for a CI server's test view"),
    "github": Format("abiscan.report.github", "text/plain", ".txt", "annotations of a GitHub workflow run"),
    "markdown": Format("abiscan.report.markdown", "text/markdown", ".md", "a job summary or review comment"),
    "html": Format("abiscan.report.html", "text/html", ".html", "one page for a release manager"),
}


def render(name: str, report: Report) -> str:
    """`report` in the format called `name`.

    Raises:
        UsageError: there is no such format.
    """
    row = FORMATS.get(name)
    if row is None:
        raise UsageError(f"no format is called {name!r}; there are {', '.join(FORMATS)}")
    function: Callable[[Report], str] = importlib.import_module(row.module).render
    return function(report)
