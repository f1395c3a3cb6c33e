"""Markdown (GitHub's) for a job summary or a review comment: verdict, files, causes with fixes, findings.

Names come from binaries. In a table they stand in `<code>` with every character that Markdown or HTML could read
written as a character reference; a backtick span would break on a name with a backtick in it.
"""

from __future__ import annotations

import re

from abiscan.model.finding import Severity
from abiscan.model.report import (
    ArtifactReport,
    ArtifactVerdict,
    Report,
    Verdict,
)
from abiscan.report.escape import printable
from abiscan.report.json_v1 import sorted_artifacts, sorted_findings, summary

# A GitHub job summary holds 1 MiB a step.
_MAX = 1_000_000
_ROWS, _SYMBOLS, _SYMBOL_LENGTH = 200, 5, 300

_VERDICTS = {
    Verdict.PASS: "✅ pass",
    Verdict.FAIL: "❌ fail",
    Verdict.INCOMPLETE: "⚠️ incomplete",
}
_STATES = {
    ArtifactVerdict.LOADS: "✅ loads",
    ArtifactVerdict.FAILS: "❌ fails",
    ArtifactVerdict.UNDECIDED: "⚠️ undecided",
    ArtifactVerdict.UNREADABLE: "⚠️ unreadable",
    ArtifactVerdict.NOT_TORCH: "not torch",
}
_MARKS = re.compile(r"[\\`*_{}\[\]()#+!|<>&~@$\"']")


def render(report: Report) -> str:
    """The run as Markdown, ending in a newline, within what a job summary holds."""
    parts = [_head(report)]
    for section in (_files(report), *_causes(report), _findings(report), _open_ends(report)):
        if section and sum(len(part.encode()) for part in parts) + len(section.encode()) < _MAX:
            parts.append(section)
        elif section:
            parts.append("*The rest is left out: a job summary holds no more. The JSON and HTML reports have all.*")
            break
    return "\n\n".join(parts) + "\n"


def code(text: str, limit: int = _SYMBOL_LENGTH) -> str:
    """`text` as code that is safe in a table cell, whatever it holds."""
    shown = printable(text)
    if len(shown) > limit:
        shown = shown[: limit - 1] + "…"
    return f"<code>{_references(shown)}</code>"


def plain(text: str) -> str:
    """`text` as running words, on one line, with nothing in it read as markup but pairs of backticks."""
    pieces = text.replace("\n", " ").split("`")
    if len(pieces) % 2 == 0:
        return _references(printable(text.replace("\n", " ")))
    return "".join(
        code(piece) if number % 2 else _references(printable(piece)) for number, piece in enumerate(pieces) if piece
    )


def _references(text: str) -> str:
    text = _MARKS.sub(lambda match: f"&#{ord(match[0])};", text)
    # GitHub links bare addresses, also inside of tags.
    return text.replace("://", "&#58;//").replace("www.", "www&#46;")


def fenced(text: str) -> str:
    """`text` as a code block with a fence that it cannot close."""
    shown = "\n".join(printable(line) for line in text.split("\n"))
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", shown)), default=0))
    return f"{fence}sh\n{shown}\n{fence}"


def _head(report: Report) -> str:
    counts = summary(report)
    words = [f"{counts['artifacts']} file{'' if counts['artifacts'] == 1 else 's'}"]
    words += [
        f"{counts[key]} {key.replace('_', ' ')}"
        for key in ("loads", "fails", "undecided", "unreadable", "not_torch")
        if counts[key]
    ]
    words += [f"{number} {name}{'' if number == 1 else 's'}" for name, number in counts["findings"].items() if number]
    words += [f"{counts[key]} {key}" for key in ("suppressed", "stale") if counts[key]]
    lines = [f"## abiscan: {_VERDICTS[report.verdict]}", "", ", ".join(words)]
    if report.target is not None:
        lines[-1] += f" · against torch {plain(report.target.torch)} ({plain(report.target.variant)})"
    return "\n".join(lines)


def _files(report: Report) -> str:
    artifacts = sorted_artifacts(report)
    if not artifacts:
        return ""
    order = [ArtifactVerdict.FAILS, ArtifactVerdict.UNREADABLE, ArtifactVerdict.UNDECIDED]
    artifacts.sort(key=lambda a: order.index(a.verdict) if a.verdict in order else len(order))
    judged = any(a.releases for a in artifacts)
    head = ["file", "verdict", *(["torch builds"] if judged else []), *(s.value + "s" for s in Severity)]
    rows = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for artifact in artifacts[:_ROWS]:
        cells = [code(artifact.display), _STATES[artifact.verdict]]
        if judged:
            releases = artifact.releases or ()
            cells.append(f"{sum(r.loads for r in releases)} of {len(releases)}" if releases else "-")
        for severity in Severity:
            number = sum(f.severity is severity and not f.suppressed for f in artifact.findings)
            cells.append(str(number) if number else "-")
        rows.append(f"| {' | '.join(cells)} |")
    if len(artifacts) > _ROWS:
        rows.append(f"\n… and {len(artifacts) - _ROWS} more files")
    return "\n".join(rows)


def _causes(report: Report) -> list[str]:
    sections = []
    for artifact in sorted_artifacts(report):
        if not artifact.causes or artifact.verdict not in (ArtifactVerdict.FAILS, ArtifactVerdict.UNDECIDED):
            continue
        lines = [f"### {code(artifact.display)}"]
        if artifact.loader.error:
            lines.append(f"The loader says: {code(artifact.loader.error)}")
        lines += [_cause(artifact, number) for number in range(len(artifact.causes))]
        sections.append("\n\n".join(lines))
    return sections


def _cause(artifact: ArtifactReport, number: int) -> str:
    group = artifact.causes[number]
    names = {b.name: b.demangled or b.name for b in artifact.imports}
    lines = [f"**{plain(group.summary)}** (`{group.cause.value}`, {group.confidence.value} confidence)", ""]
    lines += [f"- {plain(sentence)}" for sentence in group.evidence]
    lines += [f"- {code(names.get(symbol, symbol))}" for symbol in group.symbols[:_SYMBOLS]]
    if len(group.symbols) > _SYMBOLS:
        lines.append(f"- … and {len(group.symbols) - _SYMBOLS} more")
    if group.fix:
        lines += ["", fenced(group.fix)]
    return "\n".join(lines)


def _findings(report: Report) -> str:
    hits = [(a, f) for a in sorted_artifacts(report) for f in sorted_findings(a.findings) if not f.suppressed]
    hits = [(a, f) for a, f in hits if report.failing(f) or f.severity is not Severity.NOTE]
    if not hits:
        return ""
    hits.sort(key=lambda hit: (not report.failing(hit[1]), list(Severity).index(hit[1].severity)))
    rows = ["### Findings", "", "| severity | rule | where | what |", "| --- | --- | --- | --- |"]
    for artifact, finding in hits[:_ROWS]:
        source = next((location for location in finding.locations if location.file is not None), None)
        where = code(artifact.display if source is None else f"{source.file}:{source.line}")
        mark = " ❌" if report.failing(finding) else ""
        rows.append(f"| {finding.severity.value}{mark} | {plain(finding.rule)} | {where} | {plain(finding.message)} |")
    if len(hits) > _ROWS:
        rows.append(f"\n… and {len(hits) - _ROWS} more findings")
    return "\n".join(rows)


def _open_ends(report: Report) -> str:
    lines = [f"- could not be read: {code(e.path)}: {plain(e.message)}" for e in report.errors[:_ROWS]]
    lines += [
        f"- stale{' (fails)' if e.fails else ''}: {plain(e.entry)} ({code(e.source)})" for e in report.stale[:_ROWS]
    ]
    lines += [f"- {plain(note)}" for note in report.notes[:_ROWS]]
    if report.target is not None and report.target.note:
        lines.append(f"- {plain(report.target.note)}")
    return "### Also\n\n" + "\n".join(lines) if lines else ""
