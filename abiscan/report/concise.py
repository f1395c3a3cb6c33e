"""One line per finding, in the form of ruff: `path:symbol: level[rule] message`; `path:line: ...` in a source."""

from __future__ import annotations

from collections.abc import Iterator

from abiscan.model.finding import Finding
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report
from abiscan.report.escape import printable
from abiscan.report.order import sorted_artifacts, sorted_errors, sorted_findings
from abiscan.report.style import Style
from abiscan.report.wording import source_location


def render(report: Report, style: Style | None = None) -> str:
    """The lines, worst first in each file; empty if there are none. With -q only those that fail the run."""
    quiet = style is not None and style.quiet
    return "".join(f"{printable(' '.join(line.split()))}\n" for line in _lines(report, quiet=quiet))


def _lines(report: Report, *, quiet: bool) -> Iterator[str]:
    for error in sorted_errors(report):
        yield f"{error.path}: unreadable: {error.message}"
    for artifact in sorted_artifacts(report.artifacts):
        # Without a line, a file that no rule covers would look like a good one.
        if artifact.verdict in (ArtifactVerdict.UNDECIDED, ArtifactVerdict.UNREADABLE):
            yield f"{artifact.display}: {artifact.verdict.value}: unknown whether it loads"
        for finding in sorted_findings(artifact.standing):
            if quiet and not report.failing(finding):
                continue
            yield f"{_place(artifact, finding)}: {finding.severity.value}[{finding.rule}] {finding.message}"
    for entry in report.stale:
        yield f"{entry.source}: stale: {entry.entry}"


def _place(artifact: ArtifactReport, finding: Finding) -> str:
    source = source_location(finding)
    if source is None:
        return artifact.display if finding.symbol is None else f"{artifact.display}:{finding.symbol}"
    return f"{source.file}:{source.line}" if source.line is not None else f"{source.file}"
