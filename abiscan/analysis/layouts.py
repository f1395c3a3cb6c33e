"""Classes that a file shares with torch, and the releases against which it was compiled: the facts of
`layout-drift`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from abiscan.errors import AbiscanError
from abiscan.model import versions
from abiscan.model.facts import SymbolBinding
from abiscan.model.finding import Severity
from abiscan.model.imports import CheckedImport, Owner
from abiscan.model.limits import MIB
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.model.report import ArtifactKind
from abiscan.model.target import TargetSource
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.names import owner_of
from abiscan.ownership.torch_names import BEGINNINGS
from abiscan.target.build_names import release_in_name
from abiscan.wheel.metadata import ContainerKind

if TYPE_CHECKING:
    from abiscan.binary import Binary
    from abiscan.inputs.artifact import Artifact, Group
    from abiscan.model.facts import DerivedClass
    from abiscan.releases import ReleaseIndex
    from abiscan.releases.assertions import Assertion
    from abiscan.releases.layout_table import LayoutTable
    from abiscan.releases.matrix import Matrix
    from abiscan.rules.computed.layout_drift import CompiledAgainst, Use
    from abiscan.target.declared import DeclaredTorch

# Prefixes of class names from headers of torch and of the C++ library.
NOT_ITS_OWN = (*BEGINNINGS, "std::", "__gnu_cxx::", "__cxxabiv1::")
# Architectures with layouts (as `open_layouts.layouts_of`, without importing that module).
_MACHINES = frozenset({"x86_64", "aarch64"})


class SharedLayouts(Struct, frozen=True):
    """Classes that one file shares with torch and whose layouts changed between releases.

    Attributes:
        uses: detected from the imports.
        side: the releases against which the file was compiled, as far as known.
        held: class that a class of the file contains by value -> that class (from debug information; up to 0.25 s).
        key_takers: imports; the dispatch keys in their calls are not yet read. Empty if no use depends on keys.
    """

    uses: tuple[Use, ...]
    side: CompiledAgainst
    table: LayoutTable
    held: Callable[[], Mapping[str, str]]
    key_takers: tuple[str, ...] = ()

    def reads_keys(self, verdicts: Iterable[ReleaseVerdict]) -> bool:
        """Whether `with_layouts` reads the keys."""
        from abiscan.rules.computed.layout_drift import KEY

        loading = {each.torch for each in verdicts if each.loads}.difference(self.side.releases)
        numbers = {self.table.number(KEY, release) for release in (*self.side.releases, *loading)}
        return bool(self.key_takers and loading) and len(numbers) > 1

    def uses_for(self, release: str) -> tuple[Use, ...]:
        """The uses, with those from debug information if the imports do not decide for this release."""
        from abiscan.rules.computed.layout_drift import certainly_drifted, with_held

        minor = versions.minor(release)
        if any(versions.minor(each) == minor for each in self.side.releases):
            return self.uses
        if certainly_drifted(self.uses, self.side, release, self.table):
            return self.uses
        return with_held(self.uses, self.held())

    @property
    def made_for(self) -> str | None:
        """The minor release (`2.9`) against which the file was compiled, if only one is possible."""
        minors = {versions.minor(release) for release in self.side.releases}
        return minors.pop() if len(minors) == 1 else None


def shared_layouts(
    imports: Iterable[CheckedImport],
    derived: Sequence[DerivedClass],
    machine: str,
    matrix: Matrix | None,
    *,
    declared: DeclaredTorch | None,
    beside: Callable[[], Sequence[str]],
    group: Group,
    binary: Binary,
    user_index: str | None,
) -> SharedLayouts | None:
    """The shared classes; None if no layout of a shared class ever changed, or for an architecture without layouts."""
    names = [b.name for b in imports if b.owner is Owner.TORCH and b.name.startswith("_Z") and b.symbol.relocated]
    if matrix is None or machine not in _MACHINES or not names:
        return None
    from abiscan.analysis.dispatch_keys import having_keys, key_takers, registered_keys
    from abiscan.releases.open_layouts import layouts_of
    from abiscan.rules.computed.layout_drift import shared_records

    table = layouts_of(machine, user_index)
    keys = functools.cache(lambda: registered_keys(binary, names))
    uses = shared_records(names, {each.base for each in derived}, table, keys) if table is not None else ()
    if table is None or not uses:
        return None
    from abiscan.releases.assertions import MARK, assertions_in

    asserting = headers_of(assertions_in(binary.strings_with(MARK)), table.headers)
    side = compiled_against(
        matrix,
        asserting,
        declared,
        beside,
        asserting_beside=lambda: asserted_beside(group, table.headers, machine),
        sized=lambda: laid_out_as(binary.record_sizes(table.changing.keys()), table),
        keyed=lambda releases: having_keys(releases, keys, table) if any(use.numbers for use in uses) else None,
    )
    held = functools.cache(lambda: binary.record_holders(table.changing.keys(), NOT_ITS_OWN))
    is_open = any(use.numbers for use in uses) and not keys.cache_info().currsize
    return SharedLayouts(uses, side, table, held, key_takers(names) if is_open else ())


def headers_of(seen: Iterable[Assertion], table: LayoutTable, *, who: str = "it") -> CompiledAgainst | None:
    """The releases whose headers contain all assertions that the file has from torch's headers; None if they exclude no
    release, or if no release has all of them.

    Args:
        who: the file with the assertions, for the sentence.
    """
    from abiscan.rules.computed.layout_drift import CompiledAgainst

    bits = every = (1 << len(table.releases)) - 1
    telling, fewest = "", len(table.releases)
    for each in seen:
        having = table.asserting(each)
        # Texts that are in no header come from a macro, or from a torch that is not in the table.
        if having:
            bits &= having
            if having.bit_count() < fewest:
                telling, fewest = f"{each.header}:{each.first}", having.bit_count()
    common = table.releases_in(bits)
    if not common or bits == every:
        return None
    releases = ReleaseRanges.of_known(table.releases, lambda release: release in common)
    return CompiledAgainst(
        common, f"{who} has the assertions of the headers of torch {releases.text()}, such as {telling}"
    )


def laid_out_as(sizes: Mapping[str, int], table: LayoutTable) -> CompiledAgainst | None:
    """The releases in which each class has the size that it has in the debug information of a file; None if the sizes
    exclude no release, or if no release has all of them.

    Args:
        sizes: class -> size in bytes.
    """
    from abiscan.rules.computed.layout_drift import CompiledAgainst

    known = [release for release in table.releases if table.read_from.get(release)]
    common, telling, fewest = known, "", len(known)
    for record, size in sizes.items():
        layouts = {release: table.layout(record, release) for release in known}
        having = [release for release, layout in layouts.items() if layout is None or layout.size == size]
        common = [release for release in common if release in having]
        if len(having) < fewest:
            telling, fewest = f"`{record}` {size} bytes", len(having)
    if not common or not telling:
        return None
    releases = ReleaseRanges.of_known(table.releases, lambda release: release in common)
    return CompiledAgainst(tuple(common), f"its debug information gives {telling}, as torch {releases.text()} does")


def compiled_against(
    matrix: Matrix,
    asserting: CompiledAgainst | None,
    declared: DeclaredTorch | None,
    beside: Callable[[], Sequence[str]],
    *,
    asserting_beside: Callable[[], CompiledAgainst | None] = lambda: None,
    sized: Callable[[], CompiledAgainst | None] = lambda: None,
    keyed: Callable[[Sequence[str]], CompiledAgainst | None] = lambda _releases: None,
) -> CompiledAgainst:
    """The releases against whose headers a file may have been compiled.

    These are the releases that export all of its imports, narrowed step by step:

    1. to those whose headers contain its assertions;
    2. if several minor releases are left, to those in which classes have the sizes in its debug information (up to
       0.25 s);
    3. to the declared release, if the package declares one minor release. A wider requirement states what an installer
       admits and not what the file was built with;
    4. else to those with the dispatch keys in its code, to those that export the imports of the other members of its
       package, and to those whose headers contain the assertions of these. One package is compiled against one torch.

    Args:
        asserting: from `headers_of`.
        beside: from `exported_to_all`; empty if unknown.
        asserting_beside: from `asserted_beside`.
        sized: from `laid_out_as`.
        keyed: `having_keys` for the remaining releases.
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
    if len({versions.minor(release) for release in found}) > 1 and (laid_out := sized()) is not None:
        narrow(laid_out.releases, lambda: laid_out.because)
    if declared is not None:
        admitted = tuple(release for release in known if declared.admits_release(release))
        if declared.source is TargetSource.FOLDER or len({versions.minor(release) for release in admitted}) == 1:
            narrow(admitted, lambda: declared.detected_from)
    if len({versions.minor(release) for release in found}) > 1 and (with_keys := keyed(found)) is not None:
        narrow(with_keys.releases, lambda: with_keys.because)
    if len({versions.minor(release) for release in found}) > 1:
        members = beside()
        exported = ReleaseRanges.of_known(known, lambda release: release in members)
        narrow(members, lambda: f"torch {exported.text()} exports what the files of its package import")
    if len({versions.minor(release) for release in found}) > 1:
        others = asserting_beside()
        if others is not None:
            narrow(others.releases, lambda: others.because)
    # Symbols that every release exports exclude nothing.
    said = reasons[1:] if len(reasons) > 1 and len(exporting) == len(known) else reasons
    return CompiledAgainst(found, "; ".join(said))


# Number of other members that are considered: a few identify the release, and a package may have thousands.
_MEMBERS = 24
_PACKAGES = frozenset((ContainerKind.WHEEL, ContainerKind.CONDA, ContainerKind.INSTALLED))


@functools.lru_cache(maxsize=1)
def exported_to_all(group: Group, index: ReleaseIndex, machine: str) -> tuple[str, ...]:
    """The releases that export every torch import of all files of a package. Empty if there is none, and for files that
    are not a package or are made for different releases."""
    if group.facts.kind not in _PACKAGES:
        return ()
    builds = index.builds(machine)
    mask = (1 << len(builds)) - 1
    for artifact in _members(group):
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
            # A name that no release exports is exported by another member.
            for history in index.lookup(names, machine).values():
                mask &= history.mask
    return tuple(dict.fromkeys(build.torch for at, build in enumerate(builds) if mask >> at & 1))


# Total size in bytes of the other members whose texts are read.
_MOST_READ = 32 * MIB


@functools.lru_cache(maxsize=1)
def asserted_beside(group: Group, table: LayoutTable, machine: str) -> CompiledAgainst | None:
    """The releases whose headers contain all assertions in the files of a package. None as in `headers_of`, and for
    files that are not a package."""
    from abiscan.releases.assertions import MARK, assertions_in

    if group.facts.kind not in _PACKAGES:
        return None
    found: list[Assertion] = []
    left = _MOST_READ
    for artifact in sorted(_members(group), key=lambda each: each.size):
        left -= artifact.size
        if left < 0:
            break
        try:
            binary = artifact.open()
            if binary.machine == machine and any(owner_of(each.name) is Owner.TORCH for each in binary.imports):
                found += assertions_in(binary.strings_with(MARK))
        except AbiscanError:
            continue  # What cannot be read is reported by its own scan.
    return headers_of(found, table, who="a file of its package")


def _members(group: Group) -> list[Artifact]:
    """The first files of a package that is made for one torch."""
    objects = (a for a in group if a.kind is ArtifactKind.SHARED_OBJECT and release_in_name(a.package_path) is None)
    return list(islice(objects, _MEMBERS))


def with_layouts(verdicts: Iterable[ReleaseVerdict], shared: SharedLayouts) -> tuple[ReleaseVerdict, ...]:
    """The matrix with layout changes: releases on which the symbols resolve and a shared class has another layout or
    may have one, and releases with unknown layouts."""
    from abiscan.rules.computed.layout_drift import not_compared

    found: dict[str, tuple[Severity | None, tuple[str, ...]]] = {}
    open_: dict[str, bool] = {}
    result = []
    for each in verdicts:
        verdict = each
        if verdict.loads:
            if verdict.torch not in found:
                found[verdict.torch] = _layout_change(verdict.torch, shared)
                open_[verdict.torch] = bool(not_compared(shared.side, verdict.torch, shared.table))
            severity, records = found[verdict.torch]
            if severity is not None:
                verdict = with_drift(verdict, records, certain=severity is Severity.ERROR)
            elif open_[verdict.torch] and not verdict.reason:
                verdict = replace(verdict, reason="layouts not compared")
        result.append(verdict)
    return tuple(result)


def with_drift(verdict: ReleaseVerdict, records: Sequence[str], *, certain: bool) -> ReleaseVerdict:
    """The outcome with a layout change, or a possible one, of these classes."""
    drift = tuple(dict.fromkeys((*records, *verdict.drift)))
    state = ReleaseState.OTHER_LAYOUT if certain else ReleaseState.POSSIBLE_LAYOUT
    grade = "error: layout change" if certain else "warning: possible layout change"
    more = f" and {len(records) - 1} more" if len(records) > 1 else ""
    return replace(verdict, state=state, drift=drift, reason=f"{grade} of {records[0]}{more}")


def _layout_change(release: str, shared: SharedLayouts) -> tuple[Severity | None, tuple[str, ...]]:
    """The severity of `layout-drift` on a release, None if no layout changed, and the classes."""
    from abiscan.rules.computed.layout_drift import certainly_drifted, drifted

    if release in shared.side.releases:
        return None, ()
    uses = shared.uses_for(release)
    certain = certainly_drifted(uses, shared.side, release, shared.table)
    if certain:
        return Severity.ERROR, certain
    possible = tuple(drifted(uses, shared.side, release, shared.table))
    return (Severity.WARNING if possible else None), possible


def drifting_on(releases: Iterable[str], shared: SharedLayouts) -> tuple[tuple[str, Severity], ...]:
    """The releases on which `layout-drift` is an error or a warning, with the severity."""
    from abiscan.rules.computed.layout_drift import certainly_drifted

    # The code is not read for a release on which classes decide.
    classes = [use for use in shared.uses if use.numbers is None]

    def severity_on(release: str) -> Severity | None:
        if release not in shared.side.releases and certainly_drifted(classes, shared.side, release, shared.table):
            return Severity.ERROR
        return _layout_change(release, shared)[0]

    found = ((release, severity_on(release)) for release in releases)
    return tuple((release, severity) for release, severity in found if severity is not None)
