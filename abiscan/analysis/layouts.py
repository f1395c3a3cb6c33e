"""What a file shares with torch, and what it was compiled against: the facts that `layout-drift` is computed from."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from abiscan.errors import AbiscanError
from abiscan.model import versions
from abiscan.model.binding import BoundImport, Owner
from abiscan.model.facts import SymbolBinding
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import ArtifactKind
from abiscan.model.setting import Source
from abiscan.model.versions import Windows
from abiscan.ownership.names import owner_of
from abiscan.setting.declared import release_in_name
from abiscan.wheel.metadata import ContainerKind

if TYPE_CHECKING:
    from abiscan.model.facts import DerivedClass
    from abiscan.releases import ReleaseIndex
    from abiscan.releases.assertions import Assertion
    from abiscan.releases.layout_table import LayoutTable
    from abiscan.releases.matrix import Matrix
    from abiscan.rules.computed.layout_drift import CompiledAgainst, Use
    from abiscan.setting.declared import DeclaredTorch
    from abiscan.targets.artifact import Group

# Architecture of the layouts that the index has (`layout_table.MACHINE`), where that module is not wanted.
_MACHINE = "x86_64"


class SharedLayouts(Struct, frozen=True):
    """The records that one file shares with torch, where their layouts ever changed.

    Attributes:
        side: what the file was compiled against, as far as it shows.
    """

    uses: tuple[Use, ...]
    side: CompiledAgainst
    table: LayoutTable

    @property
    def made_for(self) -> str | None:
        """The minor release (`2.9`) that the file was compiled against, where one is left."""
        minors = {versions.minor(release) for release in self.side.releases}
        return minors.pop() if len(minors) == 1 else None


def shared_layouts(
    imports: Iterable[BoundImport],
    derived: Sequence[DerivedClass],
    machine: str,
    matrix: Matrix | None,
    *,
    declared: DeclaredTorch | None,
    beside: Callable[[], Sequence[str]],
    strings_with: Callable[[bytes], Iterable[bytes]],
    user_index: str | None,
) -> SharedLayouts | None:
    """None for a file that shares no record whose layout ever changed, or of an architecture without layouts."""
    names = [b.name for b in imports if b.owner is Owner.TORCH and b.name.startswith("_Z") and b.symbol.relocated]
    if matrix is None or machine != _MACHINE or not names:
        return None
    from abiscan.releases.open_layouts import open_layouts
    from abiscan.rules.computed.layout_drift import shared_records

    table = open_layouts(user_index)
    uses = shared_records(names, {each.base for each in derived}, table)
    if not uses:
        return None
    from abiscan.releases.assertions import MARK, assertions_in

    asserting = headers_of(assertions_in(strings_with(MARK)), table)
    return SharedLayouts(uses, compiled_against(matrix, asserting, declared, beside), table)


def headers_of(seen: Iterable[Assertion], table: LayoutTable) -> CompiledAgainst | None:
    """The releases whose headers have all assertions that a file took from torch's headers; None where these tell
    nothing, or are not of one release."""
    from abiscan.rules.computed.layout_drift import CompiledAgainst

    bits = every = (1 << len(table.releases)) - 1
    telling, fewest = "", len(table.releases)
    for each in seen:
        having = table.asserting(each)
        # What no header has comes from a macro, or from a torch that is not among them.
        if having:
            bits &= having
            if having.bit_count() < fewest:
                telling, fewest = f"{each.header}:{each.first}", having.bit_count()
    common = table.releases_in(bits)
    if not common or bits == every:
        return None
    window = Windows.of_known(table.releases, lambda release: release in common)
    return CompiledAgainst(common, f"the headers of torch {window.text()} assert at {telling}, as it does")


def compiled_against(
    matrix: Matrix,
    asserting: CompiledAgainst | None,
    declared: DeclaredTorch | None,
    beside: Callable[[], Sequence[str]],
) -> CompiledAgainst:
    """The releases whose headers a file may have been compiled with.

    They are those that export all that it imports. Of these, the ones whose headers have the assertions that are in it.
    Of these the ones that it is declared for, where that is one minor release: a wider requirement says what an
    installer may put beside it, and not what it was made with. Else those that export what the other members of its
    package import, too: one package is compiled against one torch.

    Args:
        asserting: of `headers_of`.
        beside: of `exported_to_all`; empty where they say nothing.
    """
    from abiscan.rules.computed.layout_drift import CompiledAgainst

    known = tuple(dict.fromkeys(v.torch for v in matrix.verdicts))
    exporting = tuple(dict.fromkeys(v.torch for v in matrix.verdicts if v.state is not ReleaseState.FAILS))
    found = exporting
    reasons = [f"torch {matrix.exporting.text()} exports all its imports"] if found else []

    def narrow(releases: Collection[str], reason: Callable[[], str]) -> None:
        nonlocal found
        common = tuple(release for release in found if release in releases)
        if common and len(common) < len(found):
            found = common
            reasons.append(reason())

    if asserting is not None:
        narrow(asserting.releases, lambda: asserting.because)
    if declared is not None:
        admitted = tuple(release for release in known if declared.admits_release(release))
        if declared.source is Source.FOLDER or len({versions.minor(release) for release in admitted}) == 1:
            narrow(admitted, lambda: declared.because)
    if len({versions.minor(release) for release in found}) > 1:
        members = beside()
        exported = Windows.of_known(known, lambda release: release in members)
        narrow(members, lambda: f"torch {exported.text()} exports what the files of its package import")
    # That every release exports them says nothing.
    said = reasons[1:] if len(reasons) > 1 and len(exporting) == len(known) else reasons
    return CompiledAgainst(found, "; ".join(said))


# Other members of a package that are looked at: a few name the release, and a package may have thousands.
_MEMBERS = 24


@functools.lru_cache(maxsize=1)
def exported_to_all(group: Group, index: ReleaseIndex, machine: str) -> tuple[str, ...]:
    """The releases that export every torch import of all files of a package; empty where none does, or for what is no
    package, but files that happen to lie together, or files for different releases."""
    if group.facts.kind not in (ContainerKind.WHEEL, ContainerKind.CONDA, ContainerKind.INSTALLED):
        return ()
    builds = index.builds(machine)
    mask = (1 << len(builds)) - 1
    objects = [a for a in group if a.kind is ArtifactKind.SHARED_OBJECT and release_in_name(a.place) is None]
    for artifact in objects[:_MEMBERS]:
        try:
            binary = artifact.open_tables()
            names = [
                each.name
                for each in binary.imports
                if each.binding is not SymbolBinding.WEAK and owner_of(each.name) is Owner.TORCH
            ]
        except AbiscanError:
            continue  # What cannot be read is reported by its own scan.
        if binary.machine == machine:
            # A name that no release exports is another member's.
            for history in index.lookup(names, machine).values():
                mask &= history.mask
    return tuple(dict.fromkeys(build.torch for at, build in enumerate(builds) if mask >> at & 1))


def with_layouts(verdicts: Iterable[ReleaseVerdict], shared: SharedLayouts) -> tuple[ReleaseVerdict, ...]:
    """The matrix with the releases that bind the file and lay out a record of it otherwise."""
    from abiscan.rules.computed.layout_drift import certainly_drifted

    found: dict[str, tuple[str, ...]] = {}
    result = []
    for each in verdicts:
        verdict = each
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
