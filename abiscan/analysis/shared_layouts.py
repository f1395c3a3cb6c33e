"""Classes that a file shares with torch: the facts of `layout-drift`, and the outcomes on releases with them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from abiscan.model import versions
from abiscan.model.finding import Severity
from abiscan.model.release import ReleaseState, ReleaseVerdict
from abiscan.ownership.torch_names import BEGINNINGS
from abiscan.rules.computed.layout_drift import certainly_drifted, drifted, not_compared

if TYPE_CHECKING:
    from abiscan.releases.layout_table import LayoutTable
    from abiscan.rules.computed.layout_drift import CompiledAgainst, Use

# Prefixes of class names from headers of torch and of the C++ library.
NOT_ITS_OWN = (*BEGINNINGS, "std::", "__gnu_cxx::", "__cxxabiv1::")


class SharedLayouts(Struct, frozen=True):
    """Classes that one file shares with torch, with layouts that changed between releases.

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


def with_layouts(verdicts: Iterable[ReleaseVerdict], shared: SharedLayouts) -> tuple[ReleaseVerdict, ...]:
    """The matrix with layout changes: releases on which the symbols resolve and a shared class has another layout or
    may have one, and releases with unknown layouts."""
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
    # The code is not read for a release on which classes decide.
    classes = [use for use in shared.uses if use.numbers is None]

    def severity_on(release: str) -> Severity | None:
        if release not in shared.side.releases and certainly_drifted(classes, shared.side, release, shared.table):
            return Severity.ERROR
        return _layout_change(release, shared)[0]

    found = ((release, severity_on(release)) for release in releases)
    return tuple((release, severity) for release, severity in found if severity is not None)
