"""Reports of source files with findings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from abiscan.errors import UnreadableFile
from abiscan.filesystem import FileSystem
from abiscan.inputs.artifact import Artifact, Group
from abiscan.model.finding import Finding
from abiscan.model.fingerprint import module_key
from abiscan.model.report import ArtifactKind, ArtifactReport, ArtifactVerdict
from abiscan.wheel.container_facts import ContainerKind

if TYPE_CHECKING:
    from abiscan.source import SourceFile, SourceSet


def analyse_source(artifact: Artifact, files: FileSystem, release: str) -> Iterator[ArtifactReport]:
    """The report of a source among the inputs; none for a source without findings among several (a tree has thousands).
    A generated module is always reported.

    Args:
        files: the file system of its `disk_path`.
        release: of torch, whose headers names are looked up in.
    """
    from abiscan.source import check_source

    module = module_key(artifact.path, artifact.member)
    findings = check_source(artifact.display, artifact.read(), module, files_around(artifact, files), release)
    if findings or artifact.kind is ArtifactKind.GENERATED_KERNEL or _is_alone(artifact):
        yield _report(artifact.path, artifact.member, artifact.kind, artifact.size, findings)


def files_around(artifact: Artifact, files: FileSystem) -> SourceSet:
    """The files among which the headers of a source are searched: its container, or the directory of a single file."""
    from abiscan.source import Neighbours

    if _is_alone(artifact) and artifact.disk_path is not None:
        return Neighbours(artifact.display, artifact.disk_path, files=files)
    return _source_set(artifact.group)


def _is_alone(artifact: Artifact) -> bool:
    return artifact.group.facts.kind is ContainerKind.FILE


# The sources of one container are scanned one after the other.
@lru_cache(maxsize=1)
def _source_set(group: Group) -> SourceSet:
    from abiscan.source import FileSet

    sources = {each.display: each for each in group if each.kind is ArtifactKind.SOURCE}

    def read(display: str) -> str | None:
        try:
            return sources[display].read().decode("utf-8", "replace")
        except UnreadableFile:
            return None  # reported by the scan of that file

    return FileSet(sources, read)


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
