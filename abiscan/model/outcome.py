"""Outcome of a file and of a container under the policy of the run. Every format shows and counts these outcomes."""

from __future__ import annotations

import enum
from collections.abc import Collection, Mapping, Sequence

from abiscan.model.finding import DOES_NOT_LOAD, EXPLAINED_BY_CAUSES, Finding, Severity
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container, Report


class GateOutcome(enum.StrEnum):
    """Outcomes, the worst first. The outcome of a container is the worst of its files."""

    FAILS = "fails"
    """It does not load or a finding fails the run, and nothing accepts that."""
    UNREADABLE = "unreadable"
    UNDECIDED = "undecided"
    ACCEPTED = "accepted"
    """A baseline or ignores accept the reasons for a worse outcome."""
    IGNORED = "ignored"
    """--select or --ignore leave out the rules of the reasons for a worse outcome."""
    LOADS = "loads"
    NOT_TORCH = "not-torch"
    REPLACED = "replaced"
    """Its package loads another build of the module, so this one does not count."""


BAD = frozenset({GateOutcome.FAILS, GateOutcome.UNREADABLE, GateOutcome.UNDECIDED})
"""Outcomes with which a run does not pass."""

_OPEN = {ArtifactVerdict.UNREADABLE: GateOutcome.UNREADABLE, ArtifactVerdict.UNDECIDED: GateOutcome.UNDECIDED}


def outcome_of(artifact: ArtifactReport, fail_on: Severity | None, accepted: Collection[str]) -> GateOutcome:
    """The outcome of a file.

    Args:
        fail_on, accepted: as in `Report`.
    """
    if any(not f.suppressed and f.severity.at_least(fail_on) for f in artifact.findings):
        return GateOutcome.FAILS
    if artifact.replaced_by is not None:
        return GateOutcome.REPLACED
    if artifact.verdict in _OPEN:
        return GateOutcome.ACCEPTED if artifact.display in accepted else _OPEN[artifact.verdict]
    errors = [f for f in artifact.findings if f.severity is Severity.ERROR]
    if artifact.verdict is ArtifactVerdict.FAILS:
        # Without an error that stands for the failure, it is accepted only if all findings are.
        reasons = errors or artifact.findings
        return (reasons and accepted_outcome(reasons)) or GateOutcome.FAILS
    if errors and (outcome := accepted_outcome(errors)):
        return outcome
    return GateOutcome(artifact.verdict.value)


def accepted_outcome(findings: Sequence[Finding]) -> GateOutcome | None:
    """The outcome if none of these findings counts, and None if one does."""
    if not all(f.suppressed for f in findings):
        return None
    return GateOutcome.IGNORED if all(f.is_left_out for f in findings) else GateOutcome.ACCEPTED


def load_outcome(artifact: ArtifactReport) -> GateOutcome | None:
    """Whether it is accepted, or ignored, that it does not load; another check may fail."""
    rules = {*EXPLAINED_BY_CAUSES, DOES_NOT_LOAD}
    # A library that was not found, and that does not decide whether the file loads, is a note.
    reasons = [f for f in artifact.findings if f.rule in rules and f.severity is not Severity.NOTE]
    return accepted_outcome(reasons) if artifact.verdict is ArtifactVerdict.FAILS and reasons else None


def outcomes_of(report: Report) -> dict[str, GateOutcome]:
    """The outcome of each file, by `ArtifactReport.display`."""
    return {a.display: outcome_of(a, report.fail_on, report.accepted) for a in report.artifacts}


def container_outcome(container: Container, report: Report, outcomes: Mapping[str, GateOutcome]) -> GateOutcome:
    """The outcome of a wheel, package or archive: the worst of its files and read errors.

    Args:
        report: the run; its artifacts are not used.
        outcomes: outcomes of files, by `ArtifactReport.display`.
    """
    found = {outcomes[display] for display in container.artifacts if display in outcomes} - {GateOutcome.REPLACED}
    for error in report.errors_in(container.path):
        found.add(GateOutcome.ACCEPTED if error.path in report.accepted else GateOutcome.UNREADABLE)
    return min(found, key=tuple(GateOutcome).index, default=GateOutcome.NOT_TORCH)


def container_outcomes(report: Report) -> dict[str, GateOutcome]:
    """The outcome of each container, by its path."""
    outcomes = outcomes_of(report)
    return {each.path: container_outcome(each, report, outcomes) for each in report.containers}
