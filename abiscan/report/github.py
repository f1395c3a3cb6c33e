"""Annotations of a GitHub workflow run: the commands `::error file=...,line=...,title=...::message`.

GitHub shows at most ten annotations of a level per step; the tenth here has the number of further ones. First the
failing files, with one annotation for the files of a wheel that have the same cause and fix. Then the findings, in turn
from every input and rule, with one annotation for each rule of a wheel. A name in a binary must not start a command, so
line breaks and control characters are escaped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence

from msgspec import Struct

from abiscan.model.finding import DOES_NOT_LOAD, Finding, Severity
from abiscan.model.outcome import BAD, outcome_of
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report
from abiscan.model.words import counted
from abiscan.report.escape import printable
from abiscan.report.order import sorted_artifacts, sorted_errors, sorted_findings
from abiscan.report.summary import failure_reason
from abiscan.report.wording import source_location

MAX_PER_LEVEL = 10

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


class _Annotation(Struct, frozen=True):
    """A command, whether it is about a whole file, and its keys for taking turns, outermost first."""

    level: str
    command: str
    about_file: bool
    turns: tuple[Hashable, ...] = ()


def render(report: Report) -> str:
    """One command per line; empty if there are none."""
    said = list(_annotations(report))
    lines: list[str] = []
    for level in _LEVELS.values():
        for_files = [each for each in said if each.level == level and each.about_file]
        findings = [each for each in said if each.level == level and not each.about_file]
        lines += _limited(level, [each.command for each in (*_interleave(for_files), *_interleave(findings))])
    return "".join(f"{line}\n" for line in lines)


def _annotations(report: Report) -> Iterator[_Annotation]:
    for error in sorted_errors(report):
        path = error.path.split("!", 1)[0]
        text = f"{error.path}: {error.message}"
        yield _Annotation("error", _command("error", path, None, "cannot be read", text), True, (path, error.path))
    artifacts = sorted_artifacts(report.artifacts)
    yield from _findings(artifacts, required=True)  # first what the user asked to be checked
    yield from _failing_files(report, artifacts)
    yield from _findings(artifacts, required=False)
    for entry in report.stale:
        level = "error" if entry.fails else "notice"
        source = entry.source.split(",", 1)[0]
        yield _Annotation(level, _command(level, source, None, "stale entry", entry.entry), False, (source,))


def _failing_files(report: Report, artifacts: Sequence[ArtifactReport]) -> Iterator[_Annotation]:
    alike: dict[tuple[str, ...], list[ArtifactReport]] = {}
    for artifact in artifacts:
        problem = _problem(report, artifact)
        if problem is not None:
            alike.setdefault((artifact.path, *problem), []).append(artifact)
    for (path, level, title, text), (first, *others) in alike.items():
        more = f" and {counted(len(others), 'more file')} of this wheel" if others else ""
        command = _command(level, path, None, title, f"{first.display}{more}: {text}")
        yield _Annotation(level, command, True, (path, first.display))


def _problem(report: Report, artifact: ArtifactReport) -> tuple[str, str, str] | None:
    """Level, title and text for a file as a whole; None if it has no problem, or all are accepted."""
    outcome = outcome_of(artifact, report.fail_on, report.accepted)
    match artifact.verdict:
        case _ if outcome not in BAD:
            return None
        case ArtifactVerdict.UNREADABLE:
            return "error", "cannot be read", "could not be read"
        case ArtifactVerdict.UNDECIDED:
            return "warning", "undecided", "cannot be decided"
        case ArtifactVerdict.FAILS:
            why, fix = failure_reason(artifact)
            return "error", "does not load", why + (f"\nfix: {fix}" if fix else "")
        case _:
            return None


def _findings(artifacts: Sequence[ArtifactReport], *, required: bool) -> Iterator[_Annotation]:
    """One annotation for each source line, and one for each rule of a wheel or file."""
    whole: dict[tuple[str, str, Severity], list[tuple[ArtifactReport, Finding]]] = {}
    for artifact in artifacts:
        for finding in sorted_findings(artifact.standing):
            if finding.rule == DOES_NOT_LOAD or finding.rule.startswith("require-") is not required:
                continue  # the annotation of the file covers it
            if source_location(finding) is not None:
                yield _finding(artifact, finding, "")
            else:
                whole.setdefault((artifact.path, finding.rule, finding.severity), []).append((artifact, finding))
    for same in whole.values():
        (artifact, finding), *rest = same
        files = len({other.display for other, _ in same})
        where = "in this file" if files == 1 else f"in {files} files of this wheel"
        yield _finding(artifact, finding, f"\nand {len(rest)} more of this rule {where}" if rest else "")


def _interleave(annotations: Iterable[_Annotation]) -> list[_Annotation]:
    """One annotation of each outermost key, then the second of each; the same for its inner keys."""
    ordered = list(annotations)
    for depth in range(max((len(each.turns) for each in ordered), default=0), 0, -1):
        seen: Counter[tuple[Hashable, ...]] = Counter()
        rounds = []
        for each in ordered:
            key = each.turns[:depth]
            rounds.append(seen[key])
            seen[key] += 1
        ordered = [ordered[n] for n in sorted(range(len(ordered)), key=rounds.__getitem__)]
    return ordered


def _finding(artifact: ArtifactReport, finding: Finding, more: str) -> _Annotation:
    level, source = _LEVELS[finding.severity], source_location(finding)
    message = f"{artifact.display}: {finding.message}" + (f"\nfix: {finding.fix}" if finding.fix else "") + more
    turns = (artifact.path, artifact.display, finding.rule)
    if source is not None and source.file is not None:
        return _Annotation(level, _command(level, source.file, source.line, finding.rule, message), False, turns)
    asked = finding.rule.startswith("require-")
    return _Annotation(level, _command(level, artifact.path, None, finding.rule, message), asked, turns)


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


# Escapes that the runner decodes (actions/toolkit, packages/core/src/command.ts: escapeData and escapeProperty). Other
# control characters would reach the log, so they are printed as escapes.
_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}


def _data(text: str) -> str:
    """Escape a message."""
    return "".join(_DATA.get(part) or printable(part) for part in re.split("([%\r\n])", text))


def _property(text: str) -> str:
    """Escape the value of a property."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
