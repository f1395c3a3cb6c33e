"""Causes and rules, merged over the files of a run, so that a page for hundreds of files has each of them once."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from abiscan.model.cause import CauseGroup, Confidence
from abiscan.model.cause_page import CausePage
from abiscan.model.finding import Finding, RuleInfo, Severity
from abiscan.model.report import ArtifactReport, Report
from abiscan.report.html.anchors import anchor_of, short_path
from abiscan.report.html.commands import steps_of
from abiscan.report.html.values import CauseView, FindingView, RuleView
from abiscan.report.order import sorted_findings
from abiscan.report.wording import place_words, readable_names

# Maximum number of places of a hit.
_PLACES = 12


def merged_causes(artifacts: Sequence[ArtifactReport], pages: Sequence[CausePage]) -> list[CauseView]:
    """Each cause once, the one with most files first. `artifacts` come worst first; their positions are the file
    numbers."""
    merged: dict[tuple[str, str], CauseView] = {}
    page_of = {page.id: page for page in pages}
    for number, artifact in enumerate(artifacts):
        names = readable_names(artifact)
        for group in artifact.causes:
            view = merged.setdefault(
                (group.cause.value, group.summary),
                CauseView(group, anchor_of(f"cause-{group.cause.value}", group.summary), page=page_of.get(group.cause)),
            )
            _add(view, group, number, names)
    return sorted(merged.values(), key=lambda v: -len(v.files))


def _add(view: CauseView, group: CauseGroup, number: int, names: Mapping[str, str]) -> None:
    view.files.append(number)
    if group.fix:
        view.fixes.setdefault(steps_of(group.fix), []).append(number)
    for symbol in group.symbols:
        view.symbols.setdefault(symbol, names.get(symbol, symbol))


def failing_rules(report: Report, artifacts: Sequence[ArtifactReport]) -> list[RuleView]:
    """Each rule with findings that fail the run, and these findings."""
    return _rules(report, artifacts, report.failing, "rule")


def noted_rules(report: Report, artifacts: Sequence[ArtifactReport]) -> list[RuleView]:
    """Each rule with findings that do not fail the run: open ones, then accepted ones."""
    return _rules(report, artifacts, lambda finding: not report.failing(finding), "noted")


def _rules(
    report: Report, artifacts: Sequence[ArtifactReport], chosen: Callable[[Finding], bool], anchor: str
) -> list[RuleView]:
    infos = {rule.id: rule for rule in report.rules}
    hits: dict[str, dict[tuple[object, ...], FindingView]] = {}
    worst: dict[str, Severity] = {}
    for number, artifact in enumerate(artifacts):
        for finding in sorted_findings(artifact.findings):
            if not chosen(finding):
                continue
            _hit(hits.setdefault(finding.rule, {}), report, number, artifact, finding)
            worst[finding.rule] = min(worst.get(finding.rule, finding.severity), finding.severity, key=lambda s: s.rank)
    views = [
        # Open before accepted, then by number of files.
        _rule(
            anchor,
            infos.get(rule_id) or RuleInfo(rule_id, "", "", "", "", (), "", worst[rule_id], Confidence.HIGH),
            worst[rule_id],
            tuple(sorted(found.values(), key=lambda hit: (hit.suppression is not None, -len(hit.files)))),
        )
        for rule_id, found in hits.items()
    ]
    return sorted(views, key=lambda v: (v.standing == 0, v.severity.rank, -v.standing, v.info.id))


def _rule(anchor: str, info: RuleInfo, severity: Severity, hits: tuple[FindingView, ...]) -> RuleView:
    return RuleView(
        info,
        f"{anchor}-{re.sub(r'[^a-z0-9-]', '-', info.id.lower())}",
        severity,
        hits,
        sum(len(hit.files) for hit in hits),
        sum(len(hit.files) for hit in hits if hit.suppression is None),
    )


def _hit(
    found: dict[tuple[object, ...], FindingView],
    report: Report,
    number: int,
    artifact: ArtifactReport,
    finding: Finding,
) -> None:
    key = (finding.severity, finding.message, finding.fix, finding.suppressed, finding.suppression)
    hit = found.get(key)
    if hit is None:
        hit = found[key] = FindingView(
            finding.severity.value,
            finding.message.strip(),
            steps_of(finding.fix),
            finding.suppression or "accepted" if finding.suppressed else None,
            report.failing(finding),
            anchor_of("finding", short_path(artifact.display), finding.fingerprint),
        )
    hit.files.append(number)
    for location in finding.locations[: _PLACES + 1]:
        where = place_words(location)
        if where and where not in hit.where and len(hit.where) <= _PLACES:
            hit.where.append(where)
