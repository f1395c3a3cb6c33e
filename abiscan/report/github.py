"""Annotations of a GitHub workflow run: the commands `::error file=...,line=...,title=...::message`.

GitHub shows at most ten annotations of a level for a step; the tenth here says how many more there are. A name from a
binary must not start a command of its own, so line breaks and control characters never reach the output unescaped.
"""

from __future__ import annotations

from abiscan.model.finding import Finding, Severity
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report
from abiscan.report.escape import printable
from abiscan.report.order import sorted_artifacts, sorted_errors, sorted_findings
from abiscan.report.wording import source_location

MAX_PER_LEVEL = 10

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report) -> str:
    """A command a line; empty where there is nothing to say."""
    found: dict[str, list[str]] = {level: [] for level in _LEVELS.values()}
    for error in sorted_errors(report):
        text = f"{error.path}: {error.message}"
        found["error"].append(_command("error", error.path.split("!", 1)[0], None, "cannot be read", text))
    for artifact in sorted_artifacts(report.artifacts):
        if artifact.verdict is ArtifactVerdict.UNREADABLE:
            text = f"{artifact.display}: could not be read"
            found["error"].append(_command("error", artifact.path, None, "cannot be read", text))
        elif artifact.verdict is ArtifactVerdict.UNDECIDED:
            text = f"{artifact.display}: cannot be decided"
            found["warning"].append(_command("warning", artifact.path, None, "undecided", text))
        for finding in sorted_findings(artifact.standing):
            found[_LEVELS[finding.severity]].append(_finding(artifact, finding))
    for entry in report.stale:
        level = "error" if entry.fails else "notice"
        found[level].append(_command(level, entry.source.split(",", 1)[0], None, "stale entry", entry.entry))
    return "".join(f"{line}\n" for level in _LEVELS.values() for line in _limited(level, found[level]))


def _finding(artifact: ArtifactReport, finding: Finding) -> str:
    source = source_location(finding)
    message = f"{artifact.display}: {finding.message}" + (f"\nfix: {finding.fix}" if finding.fix else "")
    if source is not None and source.file is not None:
        return _command(_LEVELS[finding.severity], source.file, source.line, finding.rule, message)
    return _command(_LEVELS[finding.severity], artifact.path, None, finding.rule, message)


def _limited(level: str, lines: list[str]) -> list[str]:
    if len(lines) <= MAX_PER_LEVEL:
        return lines
    more = len(lines) - MAX_PER_LEVEL + 1
    return [
        *lines[: MAX_PER_LEVEL - 1],
        f"::{level} title=abiscan::and {more} more; the job summary and the report list all",
    ]


def _command(level: str, file: str, line: int | None, title: str, message: str) -> str:
    properties = [f"file={_property(file)}"]
    if line is not None:
        properties.append(f"line={line}")
    properties.append(f"title={_property('abiscan: ' + title)}")
    return f"::{level} {','.join(properties)}::{_data(message)}"


def _data(text: str) -> str:
    """A message; its line breaks are kept, escaped as the runner decodes them."""
    lines = [printable(line).replace("%", "%25") for line in text.replace("\r", "\\r").split("\n")]
    return "%0A".join(lines)


def _property(text: str) -> str:
    return printable(text).replace("%", "%25").replace(":", "%3A").replace(",", "%2C")
