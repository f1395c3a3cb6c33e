"""Applies a policy in order: requirements, severities, selection, ignores, baseline, verdict.

    FAIL        a finding that is not accepted has a severity of `fail_on` or worse, or an entry is stale
    INCOMPLETE  nothing failed, and something could not be read or decided
    PASS        otherwise

Nothing is dropped: an accepted finding stays in the report, marked, with the reason.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan.gate.policy import Ignore, Policy
from abiscan.model.finding import Finding, Severity
from abiscan.model.fingerprint import module_key
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report, StaleEntry, Verdict
from abiscan.model.words import counted

if TYPE_CHECKING:
    import datetime
    from collections.abc import Callable

    from abiscan.gate.baseline import Baseline


def apply(
    report: Report,
    policy: Policy,
    baseline: Baseline | None = None,
    today: datetime.date | None = None,
    published: Baseline | None = None,
) -> Report:
    """Set suppressions, stale entries and the verdict of a report.

    Args:
        published: the findings of a published release; entries without a finding are not stale.
        today: decides which ignores have expired; None: none has.
    """
    report, undecided = _add_requirement_findings(_set_verdicts(report), policy)
    notes = [*report.notes, *undecided]
    report = _apply_selection(_set_severities(report, policy), policy)
    report, ignore_stale, used_whole = _apply_ignores(report, policy, today)
    stale = list(ignore_stale)
    if baseline is not None:
        from abiscan.gate.baseline import target_note

        report, baseline_stale = _apply_baseline(report, policy, baseline)
        stale += baseline_stale
        note = target_note(baseline, report)
        if note is not None:
            notes.append(note)
    if published is not None:
        report, _fixed = _apply_baseline(report, policy, published)
    accepted, unsure = _unsure(report, used_whole)
    notes += accepted.values()
    failing = any(policy.fails(f.severity) for a in report.artifacts for f in a.standing)
    if failing or (policy.fail_on is not None and any(entry.fails for entry in stale)):
        verdict = Verdict.FAIL
    elif unsure or undecided:
        verdict = Verdict.INCOMPLETE
    else:
        verdict = Verdict.PASS
    return replace(
        report,
        verdict=verdict,
        stale=tuple(stale),
        notes=tuple(notes),
        fail_on=policy.fail_on,
        accepted=tuple(accepted),
        imports_shown=policy.imports_shown,
    )


def _set_verdicts(report: Report) -> Report:
    """Add a finding for each file that does not load although no rule reports that as an error."""
    if not any(map(_fails_without_error, report.artifacts)):
        return report
    from abiscan.gate.requirements import VERDICT_RULE, with_verdict

    artifacts = (with_verdict(each) if _fails_without_error(each) else each for each in report.artifacts)
    return replace(report, artifacts=tuple(artifacts), rules=(*report.rules, VERDICT_RULE))


def _fails_without_error(artifact: ArtifactReport) -> bool:
    has_error = any(finding.severity is Severity.ERROR for finding in artifact.findings)
    return artifact.verdict is ArtifactVerdict.FAILS and artifact.replaced_by is None and not has_error


def _map_findings(report: Report, change: Callable[[ArtifactReport, Finding], Finding]) -> Report:
    """The report with each of its findings changed, in order."""
    artifacts = (
        replace(artifact, findings=tuple(change(artifact, finding) for finding in artifact.findings))
        for artifact in report.artifacts
    )
    return replace(report, artifacts=tuple(artifacts))


def _set_severities(report: Report, policy: Policy) -> Report:
    severities = dict(policy.severities)
    if not severities:
        return report
    rules = tuple(replace(r, severity=severities[r.id]) if r.id in severities else r for r in report.rules)
    return _map_findings(
        replace(report, rules=rules),
        lambda _artifact, finding: replace(finding, severity=severities.get(finding.rule, finding.severity)),
    )


def _apply_selection(report: Report, policy: Policy) -> Report:
    """Mark the findings of rules that the run leaves out."""
    if not policy.select and not policy.ignore_rules:
        return report
    return _map_findings(report, lambda _artifact, finding: _accepted(finding, policy.left_out(finding.rule)))


def _add_requirement_findings(report: Report, policy: Policy) -> tuple[Report, list[str]]:
    """Add the findings of the policy's requirements; also returns notes on what could not be decided."""
    if policy.require_torch is None and not policy.require_stable_abi:
        return report, []
    from abiscan.gate.requirements import (
        REQUIRE_STABLE_ABI,
        REQUIRE_TORCH,
        REQUIREMENT_RULES,
        require_builds,
        with_requirements,
    )

    required = {REQUIRE_TORCH} if policy.require_torch is not None else set()
    if policy.require_stable_abi:
        required.add(REQUIRE_STABLE_ABI)
    notes: list[str] = []
    artifacts = []
    builds = {} if policy.require_torch is None else require_builds(report.artifacts, policy.require_torch)
    for artifact in report.artifacts:
        extended, undecided = with_requirements(
            artifact, policy.require_torch, policy.require_stable_abi, policy.stable_abi_version
        )
        notes += undecided
        if artifact.display in builds:
            extended = replace(extended, findings=(*extended.findings, builds[artifact.display]))
        artifacts.append(extended)
    required -= {rule.id for rule in report.rules}
    rules = tuple(rule for rule in REQUIREMENT_RULES if rule.id in required)
    found = {finding.rule for artifact in artifacts for finding in artifact.findings}
    checked = [artifact for artifact in artifacts if artifact.releases]
    satisfied: tuple[str, ...] = ()
    if policy.require_torch is not None and checked and not notes and REQUIRE_TORCH not in found:
        satisfied = (f"require-torch {policy.require_torch!r} is satisfied ({counted(len(checked), 'file')})",)
    report = replace(report, artifacts=tuple(artifacts), rules=(*report.rules, *rules))
    return replace(report, notes=(*report.notes, *satisfied)), notes


def _apply_ignores(
    report: Report, policy: Policy, today: datetime.date | None
) -> tuple[Report, list[StaleEntry], list[Ignore]]:
    """The report, entries that are expired or match nothing, and the ignores of whole paths in effect."""
    live = [i for i in policy.ignores if i.expires is None or today is None or i.expires >= today]
    used: set[str] = set()

    def ignored(artifact: ArtifactReport, finding: Finding) -> Finding:
        covering = [ignore for ignore in live if ignore.covers(finding, artifact)]
        used.update(ignore.where for ignore in covering)
        if finding.suppressed or not covering:
            return finding
        return _accepted(finding, f"ignored: {covering[0].reason} ({covering[0].where})")

    found = _map_findings(report, ignored)
    stale = []
    displays = [a.display for a in report.artifacts] + [e.path for e in report.errors]
    for ignore in policy.ignores:
        if ignore not in live:
            stale.append(StaleEntry(ignore.where, f"{ignore}: expired on {ignore.expires}", False))
        elif ignore.where not in used and _could_have_matched(ignore, report, displays):
            stale.append(StaleEntry(ignore.where, f"{ignore}: unused", False))
    return found, stale, [i for i in live if i.whole_path]


def _could_have_matched(ignore: Ignore, report: Report, displays: list[str]) -> bool:
    """Whether the run could have used the ignore: a run over some files of a project does not show that others are
    unused."""
    if ignore.whole_path:
        # Its purpose may be that the file cannot be read or decided.
        settled = (ArtifactVerdict.LOADS, ArtifactVerdict.NOT_TORCH)
        covered = [a for a in report.artifacts if ignore.covers_path(a.display)]
        errors = any(ignore.covers_path(e.path) for e in report.errors)
        return bool(covered) and not errors and all(a.verdict in settled for a in covered)
    return any(ignore.covers_path(display) for display in displays)


def _apply_baseline(report: Report, policy: Policy, baseline: Baseline) -> tuple[Report, list[StaleEntry]]:
    from abiscan.gate.baseline import Matcher

    matcher = Matcher(baseline)
    # Ignored findings use up their entries too: adding an ignore must not make the baseline stale.
    findings = [(f, module_key(a.path, a.member)) for a in report.artifacts for f in a.findings]
    accepted = matcher.accept((number, *each) for number, each in enumerate(findings))
    numbers = count()

    def known(_artifact: ArtifactReport, finding: Finding) -> Finding:
        if next(numbers) not in accepted or finding.suppressed:
            return finding
        return replace(_accepted(finding, f"known: {baseline.where}"), in_baseline=True)

    report = _map_findings(report, known)
    stale = [
        StaleEntry(baseline.where, str(entry), policy.fails(entry.severity) and not policy.allow_stale)
        for entry in matcher.stale(report)
    ]
    return report, stale


def _accepted(finding: Finding, reason: str | None) -> Finding:
    return finding if reason is None else replace(finding, suppressed=True, suppression=reason)


def _unsure(report: Report, ignores: list[Ignore]) -> tuple[dict[str, str], bool]:
    """Undecided paths accepted by an ignore, each with a note, and whether any others could not be read or decided."""
    notes: dict[str, str] = {}
    unsure = False
    undecided = [
        (a.display, a.verdict.value)
        for a in report.artifacts
        if a.verdict in (ArtifactVerdict.UNDECIDED, ArtifactVerdict.UNREADABLE)
    ] + [(e.path, "unreadable") for e in report.errors]
    for display, word in undecided:
        ignore = next((i for i in ignores if i.covers_path(display)), None)
        if ignore is None:
            unsure = True
        else:
            notes[display] = f"{display}: {word}, accepted: {ignore.reason} ({ignore.where})"
    return notes, unsure
