"""What is kept of a run to be shown beside later ones."""

from __future__ import annotations

from msgspec import Struct

from abiscan.model.compatibility import BuildOfTorch
from abiscan.model.report import ArtifactVerdict, Verdict


class WheelSummary(Struct, frozen=True):
    """A wheel, package or file of a run.

    Attributes:
        name: of its distribution as an index compares it, or the path of a file that is in none.
        torch: how it fares on each build that it was judged on, oldest first; empty where it was on none.
        errors, warnings, notes: findings of its files that nothing accepts.
    """

    name: str
    version: str | None
    verdict: ArtifactVerdict
    torch: tuple[BuildOfTorch, ...]
    errors: int
    warnings: int
    notes: int


class RunSummary(Struct, frozen=True):
    """A run.

    Attributes:
        label: what tells it from the others: the file name of its report, or `now`.
    """

    label: str
    verdict: Verdict
    wheels: tuple[WheelSummary, ...]
