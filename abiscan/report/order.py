"""The orders in which formats list things, so that two runs over the same files differ in nothing."""

from __future__ import annotations

from collections.abc import Iterable

from abiscan.model.finding import Finding
from abiscan.model.imports import CheckedImport
from abiscan.model.report import ArtifactReport, ArtifactVerdict, InputError, Report

# For a person: what needs work first.
WORST_FIRST = (
    ArtifactVerdict.FAILS,
    ArtifactVerdict.UNREADABLE,
    ArtifactVerdict.UNDECIDED,
    ArtifactVerdict.LOADS,
    ArtifactVerdict.NOT_TORCH,
)


def sorted_artifacts(artifacts: Iterable[ArtifactReport]) -> list[ArtifactReport]:
    """By path, a container's members together."""
    return sorted(artifacts, key=lambda a: (a.path, a.member or "", a.kind.value))


def sorted_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Worst first, then by rule and name."""
    return sorted(findings, key=lambda f: (f.severity.rank, f.rule, f.symbol or "", f.fingerprint, f.message))


def sorted_imports(imports: Iterable[CheckedImport]) -> list[CheckedImport]:
    """By mangled name, then by the version that is asked for."""
    return sorted(imports, key=lambda b: (b.name, b.symbol.version.name if b.symbol.version else "", b.symbol.index))


def sorted_errors(report: Report) -> list[InputError]:
    """By path, then by message."""
    return sorted(report.errors, key=lambda e: (e.path, e.message))
