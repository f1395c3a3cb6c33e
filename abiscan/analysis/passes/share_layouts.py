"""Find the classes that the file shares with torch and whose layout changed between releases."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan.analysis.file_record import FileRecord
from abiscan.model.imports import Owner

if TYPE_CHECKING:
    from abiscan.analysis.shared_layouts import SharedLayouts
    from abiscan.binary import Binary
    from abiscan.releases.layout_table import LayoutTable
    from abiscan.rules.computed.layout_drift import CompiledAgainst, Numbers

# Architectures with layouts (as `open_layouts.layouts_of`, without importing that module).
_MACHINES = frozenset({"x86_64", "aarch64"})


def share_layouts(record: FileRecord) -> None:
    """Compare what the file uses with the table of layouts."""
    record.layouts = _shared_layouts(record)


def _shared_layouts(record: FileRecord) -> SharedLayouts | None:
    """The shared classes; None if no layout of a shared class ever changed, or for an architecture without layouts."""
    binary, machine, matrix = record.binary, record.facts.machine, record.matrix
    names = [
        b.name for b in record.imports if b.owner is Owner.TORCH and b.name.startswith("_Z") and b.symbol.relocated
    ]
    if matrix is None or machine not in _MACHINES or not names:
        return None
    from abiscan.releases.open_layouts import layouts_of
    from abiscan.rules.computed.layout_drift import shared_records

    table = layouts_of(machine, record.context.options.user_index)
    keys = functools.cache(lambda: _registered_keys(binary, names))
    bases = {each.base for each in record.derived_classes}
    uses = shared_records(names, bases, table, keys) if table is not None else ()
    if table is None or not uses:
        return None
    from abiscan.analysis.compiled_against import HeaderEvidence, compiled_against, headers_of, laid_out_as
    from abiscan.analysis.shared_layouts import NOT_ITS_OWN, SharedLayouts
    from abiscan.releases.assertions import MARK, assertions_in

    evidence = HeaderEvidence(
        asserting=headers_of(assertions_in(binary.strings_with(MARK)), table.headers),
        sized=lambda: laid_out_as(binary.record_sizes(table.changing.keys()), table),
        declared=record.target.declared.torch,
        exported_beside=lambda: _exported_beside(record),
        asserting_beside=lambda: _asserted_beside(record, table.headers),
    )
    takers: tuple[str, ...] = ()
    if any(use.numbers for use in uses):
        from abiscan.analysis.dispatch_keys import having_keys, key_takers

        takers = key_takers(names)
        evidence = replace(evidence, keyed=lambda releases: having_keys(releases, keys, table))
    side = compiled_against(matrix, evidence)
    held = functools.cache(lambda: binary.record_holders(table.changing.keys(), NOT_ITS_OWN))
    return SharedLayouts(uses, side, table, held, () if keys.cache_info().currsize else takers)


def _registered_keys(binary: Binary, names: Sequence[str]) -> Numbers:
    from abiscan.analysis.dispatch_keys import registered_keys  # few files register kernels

    return registered_keys(binary, names)


def _exported_beside(record: FileRecord) -> tuple[str, ...]:
    from abiscan.analysis.package_members import exported_to_all

    return exported_to_all(record.artifact.group, record.context.index, record.facts.machine)


def _asserted_beside(record: FileRecord, table: LayoutTable) -> CompiledAgainst | None:
    from abiscan.analysis.package_members import asserted_beside

    return asserted_beside(record.artifact.group, table, record.facts.machine)
