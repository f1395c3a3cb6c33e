"""The reports of source files that a rule has something to say about."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from abiscan.model.finding import Finding
from abiscan.model.fingerprint import module_key
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict
from abiscan.targets import Artifact

if TYPE_CHECKING:
    from abiscan.source import SourceFile


def analyse_source(artifact: Artifact) -> Iterator[ArtifactReport]:
    """The report of a source among the targets; none where no rule finds anything in it."""
    from abiscan.source import look_at_source

    findings = look_at_source(artifact.display, artifact.read(), module_key(artifact.path, artifact.member))
    if findings:
        yield _report(artifact.path, artifact.member, artifact.kind, artifact.size, findings)


def report_of_source(file: SourceFile) -> ArtifactReport:
    """The report of a file of a `--source` tree."""
    return _report(file.path, None, file.kind, file.size, tuple(hit.finding for hit in file.hits))


def _report(
    path: str, member: str | None, kind: ArtifactKind, size: int, findings: tuple[Finding, ...]
) -> ArtifactReport:
    return ArtifactReport(
        path=path,
        member=member,
        kind=kind,
        size=size,
        machine=None,
        verdict=ArtifactVerdict.NOT_TORCH,
        findings=findings,
    )
