"""Compatibility of each wheel, package and file of a run, and of all together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from abiscan.compare.compat import intersect_compatibility
from abiscan.compare.scope import ComparedScope, files_by_place
from abiscan.compare.scope_compatibility import compared
from abiscan.model.compat_report import CompatReport
from abiscan.model.finding import Severity
from abiscan.model.history import RunSummary, WheelSummary
from abiscan.model.release import ReleaseVerdict
from abiscan.model.report import ArtifactKind, ArtifactReport, Report
from abiscan.wheel.requirement_lines import normal_name


def find_run_compatibility(report: Report) -> CompatReport:
    """Compatibility of each wheel, package and file of a run, in the order of the report, and of all. Torch builds are
    known only with `--matrix`."""
    known = _builds(report.artifacts)
    return intersect_compatibility(
        tuple(compared(scope, lambda machine: known.get(machine, ())) for scope in _scopes(report))
    )


def summarise_run(report: Report, together: CompatReport, label: str) -> RunSummary:
    """The summary of a run for comparison with later runs."""
    containers = {container.path: container for container in report.containers}
    files = _by_owner(report, report.artifacts)
    wheels = []
    for target in together.inputs:
        own = files.get(target.path, [])
        counts = Counter(f.severity for file in own for f in file.standing)
        container = containers.get(target.path)
        verdict = container.verdict if container is not None else own[0].verdict
        name = target.path if container is None or not container.name else normal_name(container.name)
        found = (counts[severity] for severity in (Severity.ERROR, Severity.WARNING, Severity.NOTE))
        wheels.append(WheelSummary(name, target.version, verdict, target.compatibility.torch or (), *found))
    return RunSummary(label, report.verdict, tuple(wheels))


def _builds(files: Sequence[ArtifactReport]) -> dict[str, tuple[ReleaseVerdict, ...]]:
    """Architecture -> builds, from its first checked file: all files of an architecture are checked against the same
    builds."""
    found: dict[str, tuple[ReleaseVerdict, ...]] = {}
    for file in files:
        if file.releases and file.machine is not None:
            found.setdefault(file.machine, tuple(file.releases))
    return found


def _scopes(report: Report) -> list[ComparedScope]:
    """Each wheel or package with its members, and each single file."""
    files = _by_owner(report, [file for file in report.artifacts if file.kind is ArtifactKind.SHARED_OBJECT])
    packed = [
        ComparedScope(each.path, each, files_by_place(files.pop(each.path, [])), report.errors_in(each.path))
        for each in report.containers
    ]
    return packed + [ComparedScope(display, None, files_by_place(own)) for display, own in files.items()]


def _by_owner(report: Report, files: Iterable[ArtifactReport]) -> dict[str, list[ArtifactReport]]:
    """Path of a wheel or package -> its files; a single file has its own."""
    owner = {display: container.path for container in report.containers for display in container.artifacts}
    found: dict[str, list[ArtifactReport]] = {}
    for file in files:
        found.setdefault(owner.get(file.display, file.display), []).append(file)
    return found
