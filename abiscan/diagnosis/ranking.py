"""Causes that are being considered for one missing name: how well the facts speak for each, and which is best."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.diagnosis.causes import MODULES
from abiscan.model.cause import Cause, CauseId, Confidence

if TYPE_CHECKING:
    from abiscan.diagnosis.missing_name import MissingName

# From which score on a cause has which confidence (`model.Confidence` says what each promises).
_HIGH, _MEDIUM = 0.8, 0.5
# A cause that facts have all but excluded is left out.
_LEAST = 0.1
# Causes beyond this many are noise to who reads them.
_MOST = 5
_PLACES = {cause: place for place, cause in enumerate(CauseId)}


class Candidate(Struct, frozen=True):
    """One possible cause of one missing name.

    Attributes:
        score: 0 (excluded) to 1 (no other reading); it ranks, and `confidence` is read off it.
        evidence: sentences, each a fact that was looked up, those that speak against it included.
        fix: something to paste or to change.
    """

    cause: CauseId
    score: float
    evidence: tuple[str, ...]
    fix: str

    @property
    def confidence(self) -> Confidence:
        """The score as a word."""
        if self.score >= _HIGH:
            return Confidence.HIGH
        return Confidence.MEDIUM if self.score >= _MEDIUM else Confidence.LOW

    def as_cause(self) -> Cause:
        """As the report has it."""
        return Cause(self.cause, self.confidence, self.evidence, self.fix)


Candidates = Iterator[Candidate]


def ranked(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first, each cause once (its best reading); the order of `CauseId` settles a tie."""
    best: dict[CauseId, Candidate] = {}
    for candidate in candidates:
        known = best.get(candidate.cause)
        if candidate.score >= _LEAST and (known is None or candidate.score > known.score):
            best[candidate.cause] = candidate
    return tuple(sorted(best.values(), key=lambda candidate: (-candidate.score, _PLACES[candidate.cause])))


def causes_of(missing: MissingName) -> tuple[Candidate, ...]:
    """The causes of a missing name, best first."""
    # A scan without a missing name loads none of them.
    modules = [importlib.import_module(f"abiscan.diagnosis.causes.{name}") for name in MODULES]
    return ranked(candidate for module in modules for candidate in module.causes(missing))[:_MOST]
