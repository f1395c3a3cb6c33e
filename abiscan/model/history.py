"""Summary of a run that the HTML page shows beside later runs."""

from __future__ import annotations

from msgspec import Struct

from abiscan.model.compatibility import BuildOfTorch
from abiscan.model.report import ArtifactVerdict, Verdict


class WheelSummary(Struct, frozen=True):
    """A wheel, package or file of a run.

    Attributes:
        name: normalized name of its distribution, or the path of a file outside of any.
        torch: outcome on each build that it was checked against, oldest first.
        errors, warnings, notes: numbers of findings of its files that are not accepted.
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
        label: the file name of its report, or `now`.
    """

    label: str
    verdict: Verdict
    wheels: tuple[WheelSummary, ...]
