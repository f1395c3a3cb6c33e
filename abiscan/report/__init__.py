"""The output formats. Each is a pure function from a `Report` to text, in a module of its own.

Modules are imported only when their format is requested; a plain scan imports only `text`. A format that can be written
artifact by artifact has a `stream` beside its `render`."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.errors import UsageError
from abiscan.model.report import ArtifactReport, Report
from abiscan.report.summary import Summary

if TYPE_CHECKING:
    from abiscan.model.compat_report import CompatReport
    from abiscan.model.history import RunSummary


class Format(Struct, frozen=True):
    """One row of `FORMATS`.

    Attributes:
        module: has `render(report) -> str`.
        streams: whether the module has `stream(head, counts, artifacts)` too.
        media_type: from the IANA registry if it has one.
        suffix: of a file in this format, with the dot.
        summary: short description for `--help`.
    """

    module: str
    media_type: str
    suffix: str
    summary: str
    streams: bool = False


FORMATS: dict[str, Format] = {
    "text": Format("abiscan.report.text", "text/plain", ".txt", "for a person at a terminal"),
    "concise": Format("abiscan.report.concise", "text/plain", ".txt", "a line per finding, as linters have it"),
    "statistics": Format("abiscan.report.statistics", "text/plain", ".txt", "counts for each rule and each cause"),
    "json": Format("abiscan.report.json_report", "application/json", ".json", "everything, by `abiscan schema`", True),
    "ndjson": Format(
        "abiscan.report.ndjson", "application/x-ndjson", ".ndjson", "a line per artifact, for dashboards", True
    ),
    "sarif": Format("abiscan.report.sarif", "application/sarif+json", ".sarif", "for code scanning"),
    "junit": Format("abiscan.report.junit", "application/xml", ".xml", "for a CI server's test view"),
    "github": Format("abiscan.report.github", "text/plain", ".txt", "annotations of a GitHub workflow run"),
    "markdown": Format("abiscan.report.markdown", "text/markdown", ".md", "a job summary or review comment"),
    "html": Format("abiscan.report.html", "text/html", ".html", "one page for a release manager"),
}


def render(name: str, report: Report) -> str:
    """`report` in the format `name`.

    Raises:
        UsageError: unknown format.
    """
    function: Callable[[Report], str] = importlib.import_module(_row(name).module).render
    return _safe(name, function(report))


def page(report: Report, together: CompatReport, history: Sequence[RunSummary] = ()) -> str:
    """The HTML page, with data that one report does not contain: see `html.render`."""
    from abiscan.report import html

    return _safe("html", html.render(report, together, history))


def stream(name: str, head: Report, counts: Summary, artifacts: Iterable[ArtifactReport]) -> Iterator[str]:
    """The same text in pieces, for a run that does not hold all artifacts at once.

    Args:
        head: the run after the gate; its `artifacts` are ignored.
        counts: of all the artifacts.
        artifacts: after the gate, in the order of `order.sorted_artifacts`.

    Raises:
        UsageError: unknown format, or it needs the whole run.
    """
    row = _row(name)
    if not row.streams:
        raise UsageError(f"the format {name!r} needs the whole run")
    function: Callable[[Report, Summary, Iterable[ArtifactReport]], Iterator[str]]
    function = importlib.import_module(row.module).stream
    return (_safe(name, piece) for piece in function(head, counts, artifacts))


def _safe(name: str, text: str) -> str:
    """Escape text in the format, so that names in the report cannot control the program that displays it."""
    from abiscan.report.escape import safe_json, safe_markup, safe_text

    kind = _row(name).media_type
    if "json" in kind:
        return safe_json(text)
    if kind in ("application/xml", "text/html"):
        return safe_markup(text)
    return text if name == "github" else safe_text(text)


def _row(name: str) -> Format:
    row = FORMATS.get(name)
    if row is None:
        raise UsageError(f"no format is called {name!r}; there are {', '.join(FORMATS)}")
    return row
