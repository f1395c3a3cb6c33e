"""A cause that is being considered: how well the facts speak for it, and how it is told."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from abiscan.model.cause import Cause, CauseId, Confidence

# From which score on a cause is told with which confidence (`model.Confidence` says what each promises).
_HIGH, _MEDIUM = 0.8, 0.5
# A cause that facts have all but excluded is not told.
_TOLD = 0.1


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

    def told(self) -> Cause:
        """As the report has it."""
        return Cause(self.cause, self.confidence, self.evidence, self.fix)


Candidates = Iterator[Candidate]


def ranked(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first, each cause once (its best reading); what was found first wins a tie."""
    best: dict[CauseId, Candidate] = {}
    for candidate in candidates:
        known = best.get(candidate.cause)
        if candidate.score >= _TOLD and (known is None or candidate.score > known.score):
            best[candidate.cause] = candidate
    return tuple(sorted(best.values(), key=lambda candidate: -candidate.score))
