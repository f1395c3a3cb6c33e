"""Classes that a file shares with torch: the facts of `layout-drift`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.model import versions
from abiscan.model.release import ReleaseVerdict
from abiscan.ownership.torch_names import BEGINNINGS

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
