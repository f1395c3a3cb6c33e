"""The releases of torch that a file may be compiled with, by their headers, and the evidence for them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.model import versions
from abiscan.model.release import ReleaseState
from abiscan.model.target import TargetSource
from abiscan.model.versions import ReleaseRanges
from abiscan.rules.computed.layout_drift import CompiledAgainst

if TYPE_CHECKING:
    from abiscan.releases.assertions import Assertion
    from abiscan.releases.layout_table import LayoutTable
    from abiscan.releases.matrix import Matrix
    from abiscan.target.declared import DeclaredTorch


class HeaderEvidence(Struct, frozen=True):
    """What shows the headers of a file, besides its imports. A function is called only if the evidence before it leaves
    several minor releases.

    Attributes:
        asserting: from `headers_of`.
        sized: from `laid_out_as` (up to 0.25 s).
        declared: the torch that the package declares.
        keyed: `dispatch_keys.having_keys` for the remaining releases.
        exported_beside: from `exported_to_all`; empty if unknown.
        asserting_beside: from `asserted_beside`.
    """

    asserting: CompiledAgainst | None = None
    sized: Callable[[], CompiledAgainst | None] = lambda: None
    declared: DeclaredTorch | None = None
    keyed: Callable[[Sequence[str]], CompiledAgainst | None] = lambda _releases: None
    exported_beside: Callable[[], Collection[str]] = tuple
    asserting_beside: Callable[[], CompiledAgainst | None] = lambda: None


def compiled_against(matrix: Matrix, evidence: HeaderEvidence) -> CompiledAgainst:
    """The releases that a file may have been compiled with.

    These are the releases that export all of its imports, narrowed step by step:

    1. to those with its assertions in their headers;
    2. if several minor releases are left, to those in which classes have the sizes in its debug information (up to
       0.25 s);
    3. to the declared release, if the package declares one minor release. A wider requirement states what an installer
       admits and not what the file was built with;
    4. else to those with the dispatch keys in its code, to those that export the imports of the other members of its
       package, and to those with the assertions of these in their headers. One package is compiled against one torch.
    """
    known = tuple(dict.fromkeys(v.torch for v in matrix.verdicts))
    exporting = tuple(dict.fromkeys(v.torch for v in matrix.verdicts if v.state is not ReleaseState.FAILS))
    found, is_open = exporting, _have_several_minors(exporting)
    reasons = [f"torch {matrix.exporting.text()} exports all its imports"] if found else []

    def narrow(releases: Collection[str], reason: Callable[[], str]) -> None:
        nonlocal found, is_open
        common = tuple(release for release in found if release in releases)
        if common and len(common) < len(found):
            found, is_open = common, _have_several_minors(common)
            reasons.append(reason())

    if (asserting := evidence.asserting) is not None:
        narrow(asserting.releases, lambda: asserting.because)
    if is_open and (laid_out := evidence.sized()) is not None:
        narrow(laid_out.releases, lambda: laid_out.because)
    if (declared := evidence.declared) is not None:
        admitted = tuple(release for release in known if declared.admits_release(release))
        if declared.source is TargetSource.FOLDER or (admitted and not _have_several_minors(admitted)):
            narrow(admitted, lambda: declared.detected_from)
    if is_open and (with_keys := evidence.keyed(found)) is not None:
        narrow(with_keys.releases, lambda: with_keys.because)
    if is_open:
        members = evidence.exported_beside()
        exported = ReleaseRanges.of_known(known, lambda release: release in members)
        narrow(members, lambda: f"torch {exported.text()} exports what the files of its package import")
    if is_open and (others := evidence.asserting_beside()) is not None:
        narrow(others.releases, lambda: others.because)
    # Symbols that every release exports exclude nothing.
    said = reasons[1:] if len(reasons) > 1 and len(exporting) == len(known) else reasons
    return CompiledAgainst(found, "; ".join(said))


def _have_several_minors(releases: Iterable[str]) -> bool:
    return len({versions.minor(release) for release in releases}) > 1


def headers_of(seen: Iterable[Assertion], table: LayoutTable, *, who: str = "it") -> CompiledAgainst | None:
    """The releases with all assertions that the file has from torch's headers in theirs; None if they exclude no
    release, or if no release has all of them.

    Args:
        who: the file with the assertions, for the sentence.
    """
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
