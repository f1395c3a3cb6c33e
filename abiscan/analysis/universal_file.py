"""A universal file of macOS: each part is checked like a file of its own, and the worst result is that of the file."""

from __future__ import annotations

from collections.abc import Sequence

from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.passes import run_passes
from abiscan.binary.universal_parts import parts_of
from abiscan.model.report import WORST_FIRST, UniversalPart
from abiscan.wheel.container_facts import ContainerKind
from abiscan.wheel.tags import machine_fits, read_declared_tags


def records_of_parts(first: FileRecord) -> tuple[FileRecord, ...]:
    """The records of the parts, in the order of the file: those for the platforms of the wheel's tags, and for which
    torch has builds; `first` alone if there are none.

    Args:
        first: the finished record of one part.
    """
    artifact, context = first.artifact, first.context
    facts = artifact.group.facts
    tags = facts.declared_tags if facts.kind is ContainerKind.WHEEL else ()
    declared = read_declared_tags(tags)
    records = []
    for machine in parts_of(first.binary):
        if not machine_fits(declared, machine) or not context.index.builds(machine):
            continue
        record = first
        if machine != first.binary.machine:
            record = FileRecord(artifact, context, machine)
            run_passes(record, context.options.timings)
        records.append(record)
    return tuple(records) or (first,)


def worst_of(records: Sequence[FileRecord]) -> FileRecord:
    """The record with the worst verdict. A part for a platform without the target torch does not count: it
    cannot be installed there."""
    counted = [each for each in records if is_checked(each)] or records
    return min(counted, key=lambda record: WORST_FIRST.index(record.verdict))


def is_checked(record: FileRecord) -> bool:
    """Whether the target torch has a build for the platform of a part."""
    return record.torch is not None or not record.concerns_torch


def part_report(record: FileRecord) -> UniversalPart:
    """The result of one part."""
    torch = record.torch
    unresolved = tuple(each.name for each in record.imports if each.status.is_unresolved)
    return UniversalPart(
        machine=record.binary.machine,
        verdict=record.verdict if is_checked(record) else None,
        torch=None if torch is None else torch.target.label,
        missing=unresolved,
        loads_on=record.loads_on,
    )
