"""What a file shares with torch, and what it was compiled against: the facts that `layout-drift` is computed from."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from abiscan.model import versions
from abiscan.model.binding import BoundImport, Owner
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.setting import Source

if TYPE_CHECKING:
    from abiscan.model.facts import DerivedClass
    from abiscan.releases.layout_table import LayoutTable
    from abiscan.releases.matrix import Matrix
    from abiscan.rules.computed.layout_drift import CompiledAgainst, Use
    from abiscan.setting.declared import DeclaredTorch

# Architecture of the layouts that the index has.
_MACHINE = "x86_64"


class SharedLayouts(Struct, frozen=True):
    """The records that one file shares with torch, where their layouts ever changed.

    Attributes:
        side: what the file was compiled against, as far as it shows.
    """

    uses: tuple[Use, ...]
    side: CompiledAgainst
    table: LayoutTable


def shared_layouts(
    imports: Iterable[BoundImport],
    derived: Sequence[DerivedClass],
    machine: str,
    matrix: Matrix | None,
    declared: DeclaredTorch | None,
) -> SharedLayouts | None:
    """None for a file that shares no record whose layout ever changed, or of an architecture without layouts."""
    names = [b.name for b in imports if b.owner is Owner.TORCH and b.name.startswith("_Z") and b.symbol.relocated]
    if matrix is None or machine != _MACHINE or not names:
        return None
    from abiscan.rules.computed.layout_drift import shared_records

    table = _shipped()
    uses = shared_records(names, {each.base for each in derived}, table)
    return SharedLayouts(uses, compiled_against(matrix, declared), table) if uses else None


@functools.cache
def _shipped() -> LayoutTable:
    from abiscan.releases.layout_table import SHIPPED, LayoutTable

    return LayoutTable(SHIPPED)


def compiled_against(matrix: Matrix, declared: DeclaredTorch | None) -> CompiledAgainst:
    """The releases whose headers a file may have been compiled with.

    They are those that export all that it imports. Of these the ones that it is declared for, where that is one minor
    release: a wider requirement says what an installer may put beside it, and not what it was made with.
    """
    from abiscan.rules.computed.layout_drift import CompiledAgainst

    exporting = tuple(dict.fromkeys(v.torch for v in matrix.verdicts if v.state is not ReleaseState.FAILS))
    fits = f"torch {matrix.exporting.text()} exports all its imports" if exporting else ""
    if declared is not None:
        known = dict.fromkeys(v.torch for v in matrix.verdicts)
        admitted = tuple(release for release in known if declared.admits_release(release))
        one = len({versions.minor(release) for release in admitted}) == 1
        both = tuple(release for release in admitted if release in exporting)
        if (one or declared.source is Source.FOLDER) and both:
            return CompiledAgainst(both, declared.because)
    return CompiledAgainst(exporting, fits)


def with_layouts(verdicts: Iterable[ReleaseVerdict], shared: SharedLayouts) -> tuple[ReleaseVerdict, ...]:
    """The matrix with the releases that bind the file and lay out a record of it otherwise."""
    from abiscan.rules.computed.layout_drift import certainly_drifted

    found: dict[str, tuple[str, ...]] = {}
    result = []
    for verdict in verdicts:
        if verdict.loads:
            if verdict.torch not in found:
                found[verdict.torch] = certainly_drifted(shared.uses, shared.side, verdict.torch, shared.table)
            records = found[verdict.torch]
            if records:
                drift = tuple(dict.fromkeys((*verdict.drift, *records)))
                reason = f"other layout of {records[0]}" + (f" and {len(records) - 1} more" if len(records) > 1 else "")
                verdict = replace(verdict, state=ReleaseState.OTHER_LAYOUT, drift=drift, reason=reason)
        result.append(verdict)
    return tuple(result)
