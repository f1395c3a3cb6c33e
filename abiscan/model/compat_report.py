"""Result of `compat`: environments with which several files, wheels or packages are all compatible."""

from __future__ import annotations

from msgspec import Struct

from abiscan.model.compatibility import Aspect, Compared, Compatibility


class Exclusion(Struct, frozen=True):
    """Environments that one input excludes and all others are compatible with.

    Attributes:
        input: `Compared.path` of the input that excludes them.
        excluded: torch builds, CPythons, GPUs or system versions, in the notation of `Compatibility`.
        text: sentence for the text report, with the reason.
    """

    input: str
    aspect: Aspect
    excluded: tuple[str, ...]
    text: str


class CompatReport(Struct, frozen=True):
    """Environments with which all inputs are compatible.

    Attributes:
        common: the intersection over all inputs; of minimum versions the highest, with the input that requires it.
        exclusions: ordered by aspect, then by input.
        conflicts: aspects whose intersection is empty.
        notes: further consequences of installing the inputs together, as sentences.
    """

    version: str
    inputs: tuple[Compared, ...]
    common: Compatibility
    exclusions: tuple[Exclusion, ...]
    conflicts: tuple[Aspect, ...]
    notes: tuple[str, ...] = ()

    @property
    def undecided(self) -> tuple[str, ...]:
        """Reasons why the answer is incomplete; empty if it is complete."""
        return self.common.undecided
