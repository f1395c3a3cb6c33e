"""Reads a JSON report of an earlier run, as far as a later report shows it."""

from __future__ import annotations

import msgspec
from msgspec import Struct

from abiscan.compare.run_summary import find_run_compatibility, summarise_run
from abiscan.model import report as values
from abiscan.model.cause import Confidence
from abiscan.model.finding import Finding, Severity
from abiscan.model.history import RunSummary
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import SCHEMA_VERSION


class _Release(Struct, frozen=True):
    build: str
    torch: str
    variant: str
    verdict: str
    state: str | None = None
    reason: str = ""


class _Finding(Struct, frozen=True):
    rule: str
    severity: Severity
    suppressed: bool = False


class _Artifact(Struct, frozen=True):
    path: str
    verdict: values.ArtifactVerdict
    kind: values.ArtifactKind = values.ArtifactKind.SHARED_OBJECT
    member: str | None = None
    machine: str | None = None
    releases: tuple[_Release, ...] = ()
    releases_checked: bool = False
    findings: tuple[_Finding, ...] = ()
    replaced_by: str | None = None


class _Container(Struct, frozen=True):
    path: str
    kind: str
    verdict: values.ArtifactVerdict
    name: str | None = None
    version: str | None = None
    tags: tuple[str, ...] = ()
    requires_dist: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()


class _Document(Struct, frozen=True):
    """The members of the report that are read."""

    schema_version: int
    verdict: values.Verdict
    artifacts: tuple[_Artifact, ...]
    containers: tuple[_Container, ...] = ()


def read_run(data: bytes, label: str) -> RunSummary:
    """Read a report.

    Raises:
        ValueError: invalid JSON, or another schema version.
    """
    try:
        document = msgspec.json.decode(data, type=_Document)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(str(error) or "nested too deep") from None
    if document.schema_version != SCHEMA_VERSION:
        raise ValueError(f"schema_version is {document.schema_version}")
    containers = tuple(
        values.Container(c.path, c.kind, c.name, c.version, c.tags, (), c.requires_dist, (), c.verdict, c.artifacts)
        for c in document.containers
    )
    files = tuple(map(_file, document.artifacts))
    report = values.Report("", None, files, (), (), verdict=document.verdict, containers=containers)
    return summarise_run(report, find_run_compatibility(report), label)


def _file(found: _Artifact) -> values.ArtifactReport:
    # `none` in the report is a file without a machine.
    machine = None if found.machine == "none" else found.machine
    checked = found.releases_checked or bool(found.releases)
    return values.ArtifactReport(
        found.path,
        found.member,
        found.kind,
        0,
        machine,
        found.verdict,
        releases=tuple(map(_release, found.releases)) if checked else None,
        findings=tuple(
            Finding(f.rule, f.severity, Confidence.HIGH, None, "", "", "", suppressed=f.suppressed)
            for f in found.findings
        ),
        replaced_by=found.replaced_by,
    )


def _release(found: _Release) -> ReleaseVerdict:
    # Reports from before `state` have only the verdict. Later reports may have unknown states.
    state = ReleaseState.LOADS if found.verdict == "loads" else ReleaseState.FAILS
    if found.state in tuple(ReleaseState):
        state = ReleaseState(found.state)
    return ReleaseVerdict(found.build, found.torch, found.variant, True, state, (), (), found.reason)
