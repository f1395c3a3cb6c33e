"""Reads the JSON of earlier runs, as far as a later run shows it: reports of `--history`, a plan of `migrate`."""

from __future__ import annotations

import os

import msgspec
from msgspec import Struct

from abiscan.compare.run_summary import find_run_compatibility, summarise_run
from abiscan.errors import UsageError
from abiscan.inputs.named_file import read_named
from abiscan.model import report as values
from abiscan.model.cause import Confidence
from abiscan.model.finding import Finding, Severity
from abiscan.model.history import RunSummary
from abiscan.model.limits import MAX_EARLIER_REPORT, MAX_EARLIER_RUNS
from abiscan.model.migration_plan import EarlierPlan
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import SCHEMA_VERSION
from abiscan.model.words import natural_order


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


def read_earlier_runs(directory: str) -> tuple[RunSummary, ...]:
    """The reports of a directory, oldest first: sorted by file name, with numbers (date, version) by value. Empty
    before the first run of a project.

    Raises:
        UsageError: there is no such directory, or a file in it is not a report.
    """
    try:
        names = [name for name in os.listdir(directory) if name.endswith(".json")]
    except OSError as error:
        raise UsageError(f"--history {directory}: {error.strerror}") from None
    found = []
    for name in sorted(names, key=natural_order)[-MAX_EARLIER_RUNS:]:
        path = os.path.join(directory, name)
        try:
            data = read_named(path, "the report of an earlier run", limit=MAX_EARLIER_REPORT)
        except FileNotFoundError:
            raise UsageError(f"{path}: no such file") from None
        try:
            found.append(read_run(data, name.removesuffix(".json")))
        except ValueError as error:
            raise UsageError(f"{path}: not a JSON report of abiscan: {error}") from None
    return tuple(found)


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


# --- plans ------------------------------------------------------------------------------------------------------


class _PlannedFile(Struct, frozen=True):
    path: str
    rewrite: int


class _Plan(Struct, frozen=True):
    schema_version: int
    done: float | None
    files: tuple[_PlannedFile, ...]


def read_earlier_plan(path: str) -> EarlierPlan:
    """The plan in a file.

    Raises:
        UsageError: it cannot be read, or is not the JSON of `abiscan migrate`.
    """
    advice = f"write it with abiscan migrate PATH -f json:{path}"
    try:
        document = msgspec.json.decode(read_named(path, "the earlier plan"), type=_Plan)
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; {advice}") from None
    except (msgspec.DecodeError, RecursionError):
        raise UsageError(f"{path}: not a plan of abiscan migrate; {advice}") from None
    if document.schema_version != SCHEMA_VERSION:
        raise UsageError(f"{path}: schema version {document.schema_version}, not {SCHEMA_VERSION}; {advice}")
    return EarlierPlan(path, document.done, {file.path: file.rewrite for file in document.files})
