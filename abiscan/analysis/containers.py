"""The wheels and packages of a report: their verdicts and findings, from the reports of their members."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from abiscan.model.finding import Finding
from abiscan.model.report import ArtifactReport, ArtifactVerdict, Container, Report
from abiscan.rules.computed.wheel_promises import Versions, findings_of_wheel
from abiscan.wheel.metadata import ContainerFacts, ContainerKind
from abiscan.wheel.tags import torch_requirements

# A container of which nothing more is to be told than its path.
_PLAIN = (ContainerKind.FILE, ContainerKind.DIRECTORY)


def container_of(facts: ContainerFacts, displays: Iterable[str]) -> Container | None:
    """The report's value for a container; None for a file or directory. The verdict is still open.

    Args:
        displays: of its artifacts, whether or not they turn out to have a report.
    """
    if facts.kind in _PLAIN:
        return None
    return Container(
        path=facts.path,
        kind=facts.kind.value,
        name=facts.name,
        version=facts.version,
        tags=facts.file_tags,
        metadata_tags=facts.metadata_tags,
        requires_dist=facts.requires_dist,
        requires_torch=tuple(line for line in facts.requires_dist if torch_requirements([line])),
        verdict=ArtifactVerdict.UNDECIDED,
        artifacts=tuple(sorted(displays)),
    )


def with_containers(report: Report, versions: Versions) -> Report:
    """The report with each container's verdict, and with the findings of its wheels at their members."""
    by_display = {artifact.display: artifact for artifact in report.artifacts}
    containers = []
    found: dict[str, list[Finding]] = {}
    for container in report.containers:
        members = [by_display[display] for display in container.artifacts if display in by_display]
        containers.append(
            replace(container, verdict=_verdict(members), artifacts=tuple(member.display for member in members))
        )
        if container.kind == ContainerKind.WHEEL:
            for member, finding in findings_of_wheel(container, members, versions):
                found.setdefault(member.display, []).append(finding)
    artifacts = tuple(
        replace(a, findings=(*a.findings, *found[a.display])) if a.display in found else a for a in report.artifacts
    )
    return replace(report, artifacts=artifacts, containers=tuple(sorted(containers, key=lambda c: c.path)))


def _verdict(members: Iterable[ArtifactReport]) -> ArtifactVerdict:
    found = {member.verdict for member in members}
    for verdict in (
        ArtifactVerdict.FAILS,
        ArtifactVerdict.UNREADABLE,
        ArtifactVerdict.UNDECIDED,
        ArtifactVerdict.LOADS,
    ):
        if verdict in found:
            return verdict
    return ArtifactVerdict.NOT_TORCH
