"""From a shared object to its report: the passes of `passes.PASSES` in order, then one report of their results."""

from __future__ import annotations

from msgspec.structs import replace

from abiscan.analysis.context import AnalysisContext
from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.passes import run_passes
from abiscan.binary.universal_parts import parts_of
from abiscan.inputs import Artifact
from abiscan.model.facts import Export
from abiscan.model.finding import Severity
from abiscan.model.imports import Owner, Status
from abiscan.model.report import ArtifactReport
from abiscan.model.versions import ReleaseRanges
from abiscan.target.file_target import importing_pythons
from abiscan.wheel.container_facts import ContainerKind


def analyse_shared_object(artifact: Artifact, context: AnalysisContext) -> ArtifactReport:
    """The report of one shared object.

    Raises:
        UnreadableFile: the file is not a valid shared object.
        UnknownBuild: `--torch` does not name a known torch.
    """
    record = FileRecord(artifact, context)
    run_passes(record, context.options.timings)
    if not parts_of(record.binary):
        return _report_of(record)
    from abiscan.analysis.universal_file import part_report, records_of_parts, worst_of

    records = records_of_parts(record)
    return replace(_report_of(worst_of(records)), parts=tuple(map(part_report, records)))


def _report_of(record: FileRecord) -> ArtifactReport:
    artifact, options = record.artifact, record.context.options
    return ArtifactReport(
        path=artifact.path,
        member=artifact.member,
        kind=artifact.kind,
        size=artifact.size,
        machine=record.facts.machine,
        verdict=record.verdict,
        sha256=record.binary.sha256() if options.hashes else None,
        build_id=record.facts.build_id,
        loader=record.loader,
        needed=record.needed,
        imports=record.imports,
        exported_in=_exported_in(record) if options.import_details else {},
        import_causes=record.diagnosis.causes,
        target=record.target.environment,
        releases=record.outcomes if record.releases_asked else None,
        what_if=record.what_if,
        provenance=record.provenance,
        operators=record.operators,
        called=record.called.operators,
        findings=record.findings,
        causes=record.diagnosis.groups,
        notes=record.notes,
        failure_reasons=record.failure_reasons,
        exports=_exports(record) if options.compared else None,
        pythons=_pythons(record) if options.compared else None,
        loads_on=record.loads_on,
        drifting=_drifting(record),
        is_module=record.is_module,
    )


def _exported_in(record: FileRecord) -> dict[str, ReleaseRanges]:
    """Mangled name of each torch import -> releases that export it, if the index records such names."""
    matrix = record.matrix
    if matrix is None or not matrix.verdicts:
        return {}
    unknown = set(matrix.unknown)
    names = dict.fromkeys(
        each.name
        for each in record.imports
        if each.owner is Owner.TORCH and each.status is not Status.WEAK and each.name not in unknown
    )
    histories = matrix.histories
    if record.printed_index is not record.context.index:
        histories = record.printed_index.lookup((*histories, *names), record.facts.machine, of_others=True)
    return dict.fromkeys(names, ReleaseRanges()) | {name: each.exported_in for name, each in histories.items()}


def _exports(record: FileRecord) -> tuple[Export, ...]:
    return tuple(sorted(record.binary.exports(), key=lambda export: (export.name, export.version or "")))


def _pythons(record: FileRecord) -> tuple[str, ...] | None:
    target = record.target
    names = [b.name for b in record.imports if b.owner is Owner.PYTHON and b.status is not Status.WEAK]
    found = None if target.release_pythons is None else importing_pythons(target.declared, names)
    return None if found is None else tuple(map(str, found))


def _drifting(record: FileRecord) -> tuple[tuple[str, Severity], ...]:
    """Releases with `layout-drift`, for the check of the wheel's requirement; empty for other files."""
    if record.matrix is None or record.layouts is None:
        return ()
    if record.artifact.group.facts.kind is not ContainerKind.WHEEL:
        return ()
    from abiscan.analysis.shared_layouts import drifting_on

    releases = dict.fromkeys(verdict.torch for verdict in record.matrix.verdicts if verdict.loads)
    return drifting_on(releases, record.layouts)
