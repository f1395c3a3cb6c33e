"""GitHub Markdown for a job summary or a review comment: verdict, files, causes with fixes, findings.

Names come from binaries. In tables they are in `<code>`, with character references for what Markdown or HTML would
read as markup; a name may contain backticks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from abiscan.model.cause import CauseGroup
from abiscan.model.finding import Finding, Severity
from abiscan.model.outcome import BAD, GateOutcome, container_outcomes, outcomes_of
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report, Verdict
from abiscan.model.words import counted, cut, shortened
from abiscan.report.escape import code_fence, printable, printable_lines
from abiscan.report.order import sorted_artifacts, sorted_findings
from abiscan.report.summary import common_target, count_line, severity_counts
from abiscan.report.wording import (
    fixes_once,
    machines_of,
    readable_names,
    requirement_words,
    source_location,
    verdict_words,
)

# A GitHub job summary may have 1 MiB per step.
_MAX = 1_000_000
_ROWS, _SYMBOLS, _SYMBOL_LENGTH = 200, 5, 300

_MARKED: dict[Verdict | GateOutcome, str] = {
    Verdict.PASS: "✅ ",
    Verdict.FAIL: "❌ ",
    Verdict.INCOMPLETE: "⚠ ",
    GateOutcome.FAILS: "❌ ",
    GateOutcome.UNREADABLE: "⚠ ",
    GateOutcome.UNDECIDED: "⚠ ",
    GateOutcome.ACCEPTED: "",
    GateOutcome.IGNORED: "",
    GateOutcome.LOADS: "✅ ",
    GateOutcome.NOT_TORCH: "",
    GateOutcome.REPLACED: "",
}
# Characters with a meaning in Markdown wherever they are; parentheses, `!` and quotes have none without `[` or `<`.
_MARKS = r"[\\`*\[\]|<~@$#]|&(?=[#A-Za-z])"
_IN_CODE = re.compile(_MARKS + "|[_>]")
# In prose also a quote or list at the start, and `_` except between letters or digits (CommonMark 6.2).
_IN_PROSE = re.compile(_MARKS + r"|^\s*[>+]|(?<!\w)_+|(?<!_)_+(?!\w)")


def _length(text: str) -> int:
    """Length in bytes."""
    return len(text.encode("utf-8", "backslashreplace"))


def render(report: Report) -> str:
    """The run as Markdown, ending in a newline, within the limit of a job summary."""
    artifacts = sorted_artifacts(report.artifacts)
    parts = [_head(report)]
    size = _length(parts[0])
    for section in _sections(report, artifacts):
        size += _length(section)
        if size >= _MAX:
            parts.append("*The rest is left out: a job summary holds no more. The JSON and HTML reports have all.*")
            break
        parts.append(section)
    return "\n\n".join(parts) + "\n"


def code(text: str, limit: int = _SYMBOL_LENGTH) -> str:
    """Any `text` as code for a table cell."""
    return f"<code>{_references(cut(printable(text), limit), _IN_CODE)}</code>"


def plain(text: str) -> str:
    """`text` as prose on one line; the only markup in it are pairs of backticks."""
    pieces = text.replace("\n", " ").split("`")
    if len(pieces) % 2 == 0:
        return _references(printable(text.replace("\n", " ")))
    return "".join(
        code(piece) if number % 2 else _references(printable(piece)) for number, piece in enumerate(pieces) if piece
    )


def _references(text: str, marks: re.Pattern[str] = _IN_PROSE) -> str:
    text = marks.sub(lambda match: "".join(f"&#{ord(each)};" for each in match[0]), text)
    # GitHub links plain addresses, even inside of tags.
    return text.replace("://", "&#58;//").replace("www.", "www&#46;")


def fenced(text: str) -> str:
    """`text` as a code block with a fence that it cannot close."""
    shown = printable_lines(text)
    fence = code_fence(shown)
    return f"{fence}text\n{shown}\n{fence}"


def _head(report: Report) -> str:
    lines = [f"## abiscan: {_marked(report.verdict)}", "", count_line(report)]
    target = common_target(report.artifacts, report.torch_build)
    if not report.artifacts:
        return "\n".join(lines)
    if target is not None:
        lines[-1] += f" · against torch {plain(target.version)} ({plain(target.variant)})"
    elif report.torch_build is not None:
        lines[-1] += " · each against its target torch"
    return "\n".join(lines)


def _marked(verdict: Verdict | GateOutcome, files: Iterable[ArtifactReport] = ()) -> str:
    return _MARKED[verdict] + verdict_words(verdict, machines_of(files))


def _sections(report: Report, artifacts: Sequence[ArtifactReport]) -> Iterator[str]:
    """The sections that are not empty, created only if there is room."""
    if len(report.containers) > 1:
        yield _wheels(report)
    if artifacts:
        yield _files(report, artifacts, many=len(report.containers) > 1)
    # The files of a wheel mostly share causes and fixes: one section for all of them.
    alike: dict[tuple[object, ...], list[ArtifactReport]] = {}
    for artifact in artifacts:
        if artifact.causes and artifact.verdict in (ArtifactVerdict.FAILS, ArtifactVerdict.UNDECIDED):
            key = (artifact.path, artifact.loader.error, *((group.cause, group.fix) for group in artifact.causes))
            alike.setdefault(key, []).append(artifact)
    for first, *others in alike.values():
        yield _causes(first, others)
    for section in (_findings(report, artifacts), _open_ends(report)):
        if section:
            yield section


def _wheels(report: Report) -> str:
    """One row per wheel or package, the worst first."""
    outcomes, of_files = container_outcomes(report), outcomes_of(report)
    files = {artifact.display: artifact for artifact in report.artifacts}
    order, containers = tuple(GateOutcome).index, report.containers
    rows = ["| wheel | verdict | files that fail | requires |", "| --- | --- | --- | --- |"]
    for container in sorted(containers, key=lambda each: (order(outcomes[each.path]), each.path))[:_ROWS]:
        fails = sum(of_files.get(display) is GateOutcome.FAILS for display in container.artifacts)
        share = f"{fails or '-'} of {len(container.artifacts)}"
        inside = [files[display] for display in container.artifacts if display in files]
        cells = [code(container.path), _marked(outcomes[container.path], inside), share]
        required = requirement_words(container.applicable_torch)
        rows.append(f"| {' | '.join([*cells, code(required) if required else '-'])} |")
    if len(containers) > _ROWS:
        rows.append(f"\n… and {len(containers) - _ROWS} more")
    return "\n".join(rows)


def _files(report: Report, artifacts: Sequence[ArtifactReport], *, many: bool) -> str:
    """One row per file, the worst first; for many wheels only files with problems."""
    left = 0
    outcomes = outcomes_of(report)
    if many:
        whole = len(artifacts)
        artifacts = [
            a
            for a in artifacts
            if outcomes[a.display] in BAD or any(f.severity is not Severity.NOTE for f in a.standing)
        ]
        left = whole - len(artifacts)
    if not artifacts:
        return f"No findings in {counted(left, 'file')}."
    # Good files stay in the order of their paths.
    worst = tuple(GateOutcome)
    artifacts = sorted(artifacts, key=lambda a: min(worst.index(outcomes[a.display]), len(BAD)))
    with_releases = any(a.releases for a in artifacts)
    head = ["file", "verdict", *(["torch builds"] if with_releases else []), *(s.value + "s" for s in Severity)]
    rows = [f"| {' | '.join(head)} |", "|" + " --- |" * len(head)]
    for artifact in artifacts[:_ROWS]:
        cells = [code(artifact.display), _marked(outcomes[artifact.display], [artifact])]
        if with_releases:
            releases = artifact.releases or ()
            cells.append(f"{sum(r.fits for r in releases)} of {len(releases)}" if releases else "-")
        counts = severity_counts(artifact.standing)
        cells += [str(counts[severity] or "-") for severity in Severity]
        rows.append(f"| {' | '.join(cells)} |")
    if len(artifacts) > _ROWS:
        rows.append(f"\n… and {len(artifacts) - _ROWS} more files")
    if left:
        rows.append(f"\n{counted(left, 'file')} without an error or a warning {'is' if left == 1 else 'are'} left out.")
    return "\n".join(rows)


def _causes(artifact: ArtifactReport, others: Sequence[ArtifactReport]) -> str:
    """The causes of the first of several files, which have the same causes and fixes."""
    parts = [f"### {code(artifact.display)}"]
    if others:
        listed = shortened([code(other.member or other.display) for other in others], _SYMBOLS)
        parts.append(f"{counted(len(others), 'more file')} with the same causes and fixes: {listed}")
    if artifact.loader.error:
        parts.append(f"Loader error: {code(artifact.loader.error)}")
    names = readable_names(artifact)
    parts += [_cause(group, fix, names) for group, fix in fixes_once(artifact.causes)]
    return "\n\n".join(parts)


def _cause(group: CauseGroup, fix: str, names: Mapping[str, str]) -> str:
    lines = [f"**{plain(group.summary)}** (`{group.cause.value}`, {group.confidence.value} confidence)", ""]
    lines += [f"- {plain(sentence)}" for sentence in group.evidence]
    lines += [f"- {code(names.get(symbol, symbol))}" for symbol in group.symbols[:_SYMBOLS]]
    if len(group.symbols) > _SYMBOLS:
        lines.append(f"- … and {len(group.symbols) - _SYMBOLS} more")
    if fix:
        lines += ["", fenced(fix) if fix == group.fix else plain(fix)]
    return "\n".join(lines)


def _findings(report: Report, artifacts: Sequence[ArtifactReport]) -> str:
    hits = [(a, f) for a in artifacts for f in sorted_findings(a.standing)]
    hits = [(a, f) for a, f in hits if report.failing(f) or f.severity is not Severity.NOTE]
    if not hits:
        return ""
    hits.sort(key=lambda hit: (not report.failing(hit[1]), hit[1].severity.rank))
    # The first finding of a rule in a wheel or file stands for all without a source line.
    alike: dict[tuple[object, ...], list[tuple[ArtifactReport, Finding]]] = {}
    for artifact, finding in hits:
        key = (artifact.path, finding.rule, finding.severity, source_location(finding))
        alike.setdefault(key, []).append((artifact, finding))
    rows = ["### Findings", "", "| severity | rule | where | message |", "| --- | --- | --- | --- |"]
    for same in list(alike.values())[:_ROWS]:
        artifact, finding = same[0]
        source = source_location(finding)
        where = code(artifact.display if source is None else f"{source.file}:{source.line}")
        files = len({each.display for each, _ in same})
        more = f" ({len(same)} findings of this rule in {counted(files, 'file')})" if len(same) > 1 else ""
        mark = " ❌" if report.failing(finding) else ""
        cells = (finding.severity.value + mark, plain(finding.rule), where, plain(finding.message) + more)
        rows.append(f"| {' | '.join(cells)} |")
    if len(alike) > _ROWS:
        left = sum(map(len, list(alike.values())[_ROWS:]))
        rows.append(f"\n… and {counted(left, 'more finding')}")
    return "\n".join(rows)


def _open_ends(report: Report) -> str:
    lines = [f"- could not be read: {code(e.path)}: {plain(e.message)}" for e in report.errors[:_ROWS]]
    lines += [
        f"- stale{' (fails)' if e.fails else ''}: {plain(e.entry)} ({code(e.source)})" for e in report.stale[:_ROWS]
    ]
    lines += [f"- {plain(note)}" for note in report.notes[:_ROWS]]
    if report.torch_build is not None and report.torch_build.note:
        lines.append(f"- {plain(report.torch_build.note)}")
    return "### Also\n\n" + "\n".join(lines) if lines else ""
