"""How many there are of each: the counts of a run that every format shows in its own words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from abiscan.model.finding import Finding, Severity
from abiscan.model.imports import CheckedImport, Status
from abiscan.model.outcome import GateOutcome, container_outcomes
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Report
from abiscan.model.target import TorchBuild
from abiscan.report.wording import counted


class Summary(Struct, frozen=True):
    """The counts of a run.

    Attributes:
        containers: wheels, packages and archives of each outcome; every outcome is there, zero or not.
        verdicts: artifacts of each verdict; every verdict is there, zero or not, in the order of the enumeration.
        findings: those that stand, by severity; every severity is there, worst first.
        suppressed: findings that a baseline or an ignore accepts.
        failing: findings that fail the run by its policy.
        stale: entries of a baseline or configuration that match nothing any more.
        errors: inputs that could not be read.
    """

    artifacts: int
    containers: Mapping[GateOutcome, int]
    verdicts: Mapping[ArtifactVerdict, int]
    findings: Mapping[Severity, int]
    suppressed: int
    failing: int
    stale: int
    errors: int


def summary_of(report: Report) -> Summary:
    """The counts of a run."""
    verdicts = Counter(a.verdict for a in report.artifacts)
    containers = Counter(container_outcomes(report).values())
    findings: Counter[Severity] = Counter()
    total = failing = 0
    for artifact in report.artifacts:
        total += len(artifact.findings)
        for finding in artifact.standing:
            findings[finding.severity] += 1
            failing += report.failing(finding)
    return Summary(
        len(report.artifacts),
        {outcome: containers[outcome] for outcome in GateOutcome},
        {verdict: verdicts[verdict] for verdict in ArtifactVerdict},
        {severity: findings[severity] for severity in Severity},
        total - findings.total(),
        failing,
        len(report.stale),
        len(report.errors),
    )


def count_words(counts: Summary) -> list[str]:
    """What a run's summary counts beside its files: `2 errors`, `1 suppressed`, `1 input could not be read`."""
    words = [counted(number, severity.value) for severity, number in counts.findings.items() if number]
    if counts.suppressed:
        words.append(f"{counts.suppressed} suppressed")
    if counts.stale:
        words.append(counted(counts.stale, "stale entry", "stale entries"))
    if counts.errors:
        words.append(f"{counted(counts.errors, 'input')} could not be read")
    return words


def common_target(artifacts: Iterable[ArtifactReport], run: TorchBuild | None) -> TorchBuild | None:
    """The torch that every file was judged on; None where they were on several."""
    targets = {(t.version, t.variant, t.path) for a in artifacts if (t := a.checked_against(run)) is not None}
    return run if len(targets) <= 1 else None


def refusal_of(artifact: ArtifactReport) -> Finding | None:
    """Why this machine's loader refuses a file that torch and Python don't stop, where that fails the file."""
    return next((f for f in artifact.standing if f.rule == "loader-refuses" and f.severity is Severity.ERROR), None)


def is_refused_here(artifact: ArtifactReport) -> bool:
    """Whether this machine's loader refuses a file that torch and Python don't stop, for anything but an absent GPU
    driver."""
    return any(finding.rule == "loader-refuses" for finding in artifact.findings)


def failure_reason(artifact: ArtifactReport) -> tuple[str, str]:
    """Why a file fails, in a sentence, and what to do about it ("" where nobody knows): the leading cause's word, else
    the loader's, else the first error's."""
    errors = [f for f in artifact.standing if f.severity is Severity.ERROR]
    refusal = refusal_of(artifact)
    if refusal is not None:
        return refusal.message, refusal.fix or ""
    if artifact.causes:
        return artifact.causes[0].summary, artifact.causes[0].fix or ""
    if artifact.loader.error:
        return artifact.loader.error, (errors[0].fix or "") if errors else ""
    return (errors[0].message, errors[0].fix or "") if errors else ("does not load", "")


def severity_counts(findings: Iterable[Finding]) -> Counter[Severity]:
    """How many of the findings have each severity."""
    return Counter(f.severity for f in findings)


def status_counts(imports: Iterable[CheckedImport]) -> dict[Status, int]:
    """How many imports have each status; every status is there, zero or not, in the order of the enumeration."""
    counts = dict.fromkeys(Status, 0)
    for bound in imports:
        counts[bound.status] += 1
    return counts
