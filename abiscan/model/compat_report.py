"""What several files, wheels or packages all work on."""

from __future__ import annotations

from msgspec import Struct

from abiscan.model.compatibility import Aspect, Compared, Compatibility


class Exclusion(Struct, frozen=True):
    """What one of them does not work on and every other one does.

    Attributes:
        input: `Compared.path` of the one.
        excluded: builds of torch, CPythons, GPUs or the system's versions, as `Compatibility` has them.
        text: the same for a person, with why.
    """

    input: str
    aspect: Aspect
    excluded: tuple[str, ...]
    text: str


class CompatReport(Struct, frozen=True):
    """What all of them work on.

    Attributes:
        common: the same of all of them; of the floors the highest, with who asks for it.
        exclusions: in the order of the aspects, then of the targets.
        conflicts: the aspects in which nothing is left that all work on.
        notes: what else comes of putting them together, in sentences.
    """

    version: str
    inputs: tuple[Compared, ...]
    common: Compatibility
    exclusions: tuple[Exclusion, ...]
    conflicts: tuple[Aspect, ...]
    notes: tuple[str, ...] = ()

    @property
    def undecided(self) -> tuple[str, ...]:
        """Why the answer is not whole; empty where it is."""
        return self.common.undecided
