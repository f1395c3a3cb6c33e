"""Candidate causes of one missing symbol, with scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct

from abiscan.model.cause import Cause, CauseId, Confidence

# Minimum scores of confidence (see `model.Confidence`).
_HIGH, _MEDIUM = 0.8, 0.5
# Causes with a lower score are dropped.
_LEAST = 0.1
_PLACES = {cause: place for place, cause in enumerate(CauseId)}


class Candidate(Struct, frozen=True):
    """A possible cause of one missing symbol.

    Attributes:
        score: 0 (excluded) to 1 (no other explanation); determines order and `confidence`.
        evidence: sentences, each a verified fact, for or against the cause.
        fix: commands or changes; a function makes those that a report may not show.
        form: the form of the cause that has a title of its own (`CausePage.titles`); empty for the usual one.
    """

    cause: CauseId
    score: float
    evidence: tuple[str, ...]
    fix: str | Callable[[], str]
    form: str = ""

    @property
    def fix_text(self) -> str:
        """Commands or changes."""
        return self.fix if isinstance(self.fix, str) else self.fix()

    @property
    def confidence(self) -> Confidence:
        """The score as a word."""
        if self.score >= _HIGH:
            return Confidence.HIGH
        return Confidence.MEDIUM if self.score >= _MEDIUM else Confidence.LOW

    def as_cause(self) -> Cause:
        """The cause in a report."""
        return Cause(self.cause, self.confidence, self.evidence, self.fix_text)


Candidates = Iterator[Candidate]


def ranked(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first, each cause once with its best score; ties in the order of `CauseId`."""
    best: dict[CauseId, Candidate] = {}
    for candidate in candidates:
        known = best.get(candidate.cause)
        if candidate.score >= _LEAST and (known is None or candidate.score > known.score):
            best[candidate.cause] = candidate
    return tuple(sorted(best.values(), key=lambda candidate: (-candidate.score, _PLACES[candidate.cause])))
