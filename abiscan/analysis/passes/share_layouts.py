"""Find the classes that the file shares with torch and whose layout changed between releases."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.analysis.layouts import exported_to_all, shared_layouts


def share_layouts(record: FileRecord) -> None:
    """Compare what the file uses with the table of layouts."""
    context, group, machine = record.context, record.artifact.group, record.facts.machine
    record.layouts = shared_layouts(
        record.imports,
        record.derived_classes,
        machine,
        record.matrix,
        declared=record.target.declared.torch,
        beside=lambda: exported_to_all(group, context.index, machine),
        group=group,
        binary=record.binary,
        user_index=context.options.user_index,
    )
