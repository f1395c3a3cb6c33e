"""Counts of a run, which every format shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct

from abiscan.model.finding import Finding, Severity
from abiscan.model.imports import CheckedImport, Status
from abiscan.model.outcome import GateOutcome, container_outcomes, load_outcome, outcome_of, outcomes_of
from abiscan.model.platforms import loading_words
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict, Report
from abiscan.model.target import TorchBuild
from abiscan.model.words import counted
from abiscan.report.wording import verdict_words


class Summary(Struct, frozen=True):
    """The counts of a run.

    Attributes:
        containers: outcome -> number of wheels, packages and archives; contains every outcome.
        outcomes: the same of artifacts.
        verdicts: verdict -> number of artifacts; contains every verdict, in the order of the enumeration.
        findings: severity -> number of findings that are not accepted; contains every severity, the worst first.
        suppressed: findings that a baseline or an ignore accepts, those of replaced builds and of rules left out.
        replaced: of these, those of builds that their package replaces by another.
        ignored: of the rest, those of rules that --select or --ignore leave out.
        failing: findings that fail the run.
        stale: unused entries of a baseline or configuration.
        errors: inputs that could not be read.
    """

    artifacts: int
    containers: Mapping[GateOutcome, int]
    outcomes: Mapping[GateOutcome, int]
    verdicts: Mapping[ArtifactVerdict, int]
    findings: Mapping[Severity, int]
    suppressed: int
    replaced: int
    ignored: int
    failing: int
    stale: int
    errors: int

    @property
    def accepted(self) -> int:
        """Findings that a baseline or an ignore accepts, without those of replaced builds."""
        return self.suppressed - self.replaced - self.ignored


def summary_of(report: Report) -> Summary:
    """The counts of a run."""
    verdicts = Counter(a.verdict for a in report.artifacts)
    outcomes, containers = (Counter(each(report).values()) for each in (outcomes_of, container_outcomes))
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
        {outcome: outcomes[outcome] for outcome in GateOutcome},
        {verdict: verdicts[verdict] for verdict in ArtifactVerdict},
        {severity: findings[severity] for severity in Severity},
        total - findings.total(),
        sum(f.suppressed for a in report.artifacts if a.replaced_by is not None for f in a.findings),
        sum(f.is_left_out for a in report.artifacts if a.replaced_by is None for f in a.findings),
        failing,
        len(report.stale),
        len(report.errors),
    )


def count_words(counts: Summary) -> list[str]:
    """Counts of the summary line besides files: `2 errors`, `1 accepted finding`, `1 input could not be read`."""
    words = [counted(number, severity.value) for severity, number in counts.findings.items() if number]
    if counts.accepted:
        words.append(counted(counts.accepted, "accepted finding"))
    if counts.ignored:
        words.append(counted(counts.ignored, "ignored finding"))
    if counts.stale:
        words.append(counted(counts.stale, "unused entry", "unused entries"))
    if counts.errors:
        words.append(f"{counted(counts.errors, 'input')} could not be read")
    return words


def count_line(report: Report) -> str:
    """`2 files checked: 1 loads, 1 fails to load (4 errors)`."""
    counts = summary_of(report)
    found = Counter(
        _file_words(each, outcome_of(each, report.fail_on, report.accepted))
        for each in report.artifacts
        if each.kind is ArtifactKind.SHARED_OBJECT
    )
    parts = [f"{number} {one if number == 1 else many}" for (one, many), number in found.items()]
    checked = counts.artifacts + report.silent_sources
    if checked > found.total():
        parts.append(counted(checked - found.total(), "source"))
    more = count_words(counts)
    if parts and more:
        parts[-1] += f" ({', '.join(more)})"
    parts = parts or more
    head = [] if checked == 0 and parts else [f"{counted(checked, 'file')} checked"]
    return ": ".join([*head, *([", ".join(parts)] if parts else [])])


def _file_words(artifact: ArtifactReport, outcome: GateOutcome) -> tuple[str, str]:
    """The outcome of one file and of several, in words."""
    loads = loading_words([artifact.machine])
    if outcome is GateOutcome.FAILS and (artifact.verdict is not ArtifactVerdict.FAILS or load_outcome(artifact)):
        if artifact.verdict is ArtifactVerdict.LOADS:
            return f"{loads.one} but fails the checks", f"{loads.many} but fail the checks"
        return "fails the checks", "fail the checks"
    words = {GateOutcome.FAILS: ("fails to load", "fail to load"), GateOutcome.LOADS: (loads.one, loads.many)}
    return words.get(outcome, (verdict_words(outcome),) * 2)


def common_target(artifacts: Iterable[ArtifactReport], run: TorchBuild | None) -> TorchBuild | None:
    """The torch that every file was checked against; None if there are several."""
    targets = {(t.version, t.variant, t.path) for a in artifacts if (t := a.checked_against(run)) is not None}
    return run if len(targets) <= 1 else None


def refusal_of(artifact: ArtifactReport) -> Finding | None:
    """The finding that fails a file because the loader of this machine refuses it for a reason outside torch and
    Python."""
    return next((f for f in artifact.standing if f.rule == "loader-refuses" and f.severity is Severity.ERROR), None)


def is_refused_here(artifact: ArtifactReport) -> bool:
    """Whether the loader of this machine refuses a file for a reason outside torch, Python and the GPU driver."""
    return any(finding.rule == "loader-refuses" for finding in artifact.findings)


def failure_reason(artifact: ArtifactReport) -> tuple[str, str]:
    """Reason of a failure and its fix ("" if unknown): from the main cause, the loader error or the first error."""
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
    """Number of findings of each severity."""
    return Counter(f.severity for f in findings)


def status_counts(imports: Iterable[CheckedImport]) -> dict[Status, int]:
    """Number of imports of each status; contains every status, in the order of the enumeration."""
    counts = dict.fromkeys(Status, 0)
    for bound in imports:
        counts[bound.status] += 1
    return counts
