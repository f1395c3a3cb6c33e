"""Causes and rules, merged over the files of a run: a page for hundreds of files tells each of them once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from abiscan.model.cause import CauseGroup
from abiscan.model.finding import Finding, Location, RuleInfo, Severity
from abiscan.model.report import ArtifactReport, Report
from abiscan.report.escape import printable, printable_lines
from abiscan.report.html.values import CauseView, Hit, RuleView
from abiscan.report.order import sorted_findings
from abiscan.report.wording import readable_names, source_place

# Hits of a rule that stand in the page itself; the script adds the rest when it is asked to.
HITS = 25


def merged_causes(artifacts: Sequence[ArtifactReport]) -> list[CauseView]:
    """Each cause once, that of most files first. `artifacts` come worst first; their places are the files' numbers."""
    merged: dict[tuple[str, str], CauseView] = {}
    for number, artifact in enumerate(artifacts):
        names = readable_names(artifact)
        for group in artifact.causes:
            view = merged.setdefault(
                (group.cause.value, group.summary),
                CauseView(
                    group.cause.value,
                    group.confidence.value,
                    printable(group.summary),
                    tuple(printable(sentence) for sentence in group.evidence),
                ),
            )
            _add(view, group, number, names)
    return sorted(merged.values(), key=lambda v: -len(v.files))


def _add(view: CauseView, group: CauseGroup, number: int, names: Mapping[str, str]) -> None:
    view.files.append(number)
    if group.fix:
        view.fixes.setdefault(_stripped(group.fix), []).append(number)
    for symbol in group.symbols:
        view.symbols.setdefault(symbol, printable(names.get(symbol, symbol)))


def merged_rules(report: Report, artifacts: Sequence[ArtifactReport]) -> list[RuleView]:
    """Each rule that hit something once, with its hits: those that stand first, then by severity."""
    infos = {rule.id: rule for rule in report.rules}
    hits: dict[str, list[Hit]] = {}
    worst: dict[str, Severity] = {}
    for number, artifact in enumerate(artifacts):
        for finding in sorted_findings(artifact.findings):
            hits.setdefault(finding.rule, []).append(_hit(report, number, finding))
            worst[finding.rule] = min(worst.get(finding.rule, finding.severity), finding.severity, key=lambda s: s.rank)
    views = []
    for rule_id, found in hits.items():
        # What stands before what is accepted.
        found.sort(key=lambda hit: (hit.suppression is not None, not hit.failing))
        views.append(_rule(rule_id, infos.get(rule_id), worst[rule_id], tuple(found)))
    return sorted(views, key=lambda v: (v.standing == 0, Severity(v.severity).rank, -v.standing, v.id))


def _rule(rule_id: str, info: RuleInfo | None, severity: Severity, hits: tuple[Hit, ...]) -> RuleView:
    return RuleView(
        printable(rule_id),
        severity.value,
        _stripped(info.summary) if info else "",
        _stripped(info.why) if info else "",
        _stripped(info.example) if info else "",
        _stripped(info.use_instead) if info else "",
        tuple(r for r in info.references if r.startswith(("https://", "http://"))) if info else (),
        hits,
        hits[:HITS],
        sum(hit.suppression is None for hit in hits),
    )


def _hit(report: Report, number: int, finding: Finding) -> Hit:
    return Hit(
        number,
        finding.severity.value,
        _stripped(finding.message),
        _stripped(finding.fix),
        tuple(where for location in finding.locations if (where := _where(location))),
        printable(finding.suppression or "accepted") if finding.suppressed else None,
        report.failing(finding),
    )


def _where(location: Location) -> str:
    where = source_place(location) or location.function or ""
    if location.file is None and location.offset is not None:
        where = f"{where or 'code'} at {location.offset:#x}"
    return printable(where)


def _stripped(text: str) -> str:
    return printable_lines(text.strip())
