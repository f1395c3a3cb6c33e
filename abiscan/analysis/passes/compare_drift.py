"""Compare the classes that the file shares with torch on every release on which its symbols resolve."""

from __future__ import annotations

from abiscan.analysis.file_record import FileRecord
from abiscan.model.release import ReleaseVerdict


def compare_drift(record: FileRecord) -> None:
    """Add vtable and layout changes to the matrix, for each build on which the symbols resolve."""
    verdicts = _with_vtable_drift(record)
    if record.layouts is not None:
        from abiscan.analysis.shared_layouts import with_layouts

        verdicts = with_layouts(verdicts, record.layouts)
    record.outcomes = verdicts


def _with_vtable_drift(record: FileRecord) -> tuple[ReleaseVerdict, ...]:
    assert record.matrix is not None
    verdicts = record.matrix.verdicts
    context, machine = record.context, record.facts.machine
    made_for = context.index.newest_of(record.built_for, machine)
    classes = sorted({each.base for each in record.derived_classes}) if made_for is not None else []
    if not classes or made_for is None:
        return verdicts
    from abiscan.analysis.shared_layouts import with_drift
    from abiscan.rules.computed.vtable_drift import compare

    # The file may be compiled for one of these.
    own = record.layouts.side.releases if record.layouts is not None else (made_for.torch,)
    builds = {build.key: build for build in context.index.builds(machine)}
    result = []
    for verdict in verdicts:
        drifted = []
        for base in classes if verdict.loads and verdict.torch not in own else ():
            old = context.index.vtable(base.removeprefix("_ZTI"), made_for)
            new = context.index.vtable(base.removeprefix("_ZTI"), builds[verdict.build])
            if old is not None and new is not None and compare(old, new) is not None:
                drifted.append(context.readable(base).removeprefix("typeinfo for "))
        result.append(with_drift(verdict, drifted, certain=False) if drifted else verdict)
    return tuple(result)
