"""The orders of lists in all formats, so that the output is deterministic."""

from __future__ import annotations

from collections.abc import Iterable

from abiscan.model.finding import Finding
from abiscan.model.imports import CheckedImport
from abiscan.model.report import ArtifactReport, InputError, Report


def sorted_artifacts(artifacts: Iterable[ArtifactReport]) -> list[ArtifactReport]:
    """By path, with the members of a container together."""
    return sorted(artifacts, key=lambda a: (a.path, a.member or "", a.kind.value))


def sorted_findings(findings: Iterable[Finding]) -> list[Finding]:
    """Worst first, then by rule and name."""
    return sorted(findings, key=lambda f: (f.severity.rank, f.rule, f.symbol or "", f.fingerprint, f.message))


def sorted_imports(imports: Iterable[CheckedImport]) -> list[CheckedImport]:
    """By mangled name, then by requested version."""
    return sorted(imports, key=lambda b: (b.name, b.symbol.version.name if b.symbol.version else "", b.symbol.index))


def sorted_errors(report: Report) -> list[InputError]:
    """By path, then by message."""
    return sorted(report.errors, key=lambda e: (e.path, e.message))
