"""Candidate causes of one missing symbol, with scores."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.diagnosis.causes import MODULES, NOT_OF_TORCH
from abiscan.model.cause import Cause, CauseId, Confidence

if TYPE_CHECKING:
    from abiscan.diagnosis.missing_name import MissingName

# Minimum scores of confidence (see `model.Confidence`).
_HIGH, _MEDIUM = 0.8, 0.5
# Causes with a lower score are dropped.
_LEAST = 0.1
# Maximum number of causes.
_MOST = 5
_PLACES = {cause: place for place, cause in enumerate(CauseId)}
_OF_OTHER_RELEASES = (CauseId.BUILT_FOR_OLDER_TORCH, CauseId.BUILT_FOR_NEWER_TORCH, CauseId.SIGNATURE_CHANGED)


class Candidate(Struct, frozen=True):
    """A possible cause of one missing symbol.

    Attributes:
        score: 0 (excluded) to 1 (no other explanation); determines order and `confidence`.
        evidence: sentences, each a verified fact, for or against the cause.
        fix: commands or changes.
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
        """The cause in a report."""
        return Cause(self.cause, self.confidence, self.evidence, self.fix)


Candidates = Iterator[Candidate]


def ranked(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Best first, each cause once with its best score; ties in the order of `CauseId`."""
    best: dict[CauseId, Candidate] = {}
    for candidate in candidates:
        known = best.get(candidate.cause)
        if candidate.score >= _LEAST and (known is None or candidate.score > known.score):
            best[candidate.cause] = candidate
    return tuple(sorted(best.values(), key=lambda candidate: (-candidate.score, _PLACES[candidate.cause])))


def causes_of(missing: MissingName) -> tuple[Candidate, ...]:
    """The causes of a missing symbol, best first."""
    reference = missing.reference
    if reference.macos:
        from abiscan.diagnosis import cuda_on_macos
        from abiscan.diagnosis.catalogue.code_causes import row_causes

        if cuda_on_macos.needs_symbol(missing):
            return tuple(row_causes("cuda-on-macos", missing, needed=missing.shown))
    is_versioned = reference.version is not None or reference.library is not None
    skipped = NOT_OF_TORCH if missing.cxx is not None and missing.is_torch_name and not is_versioned else ()
    # A scan without a missing symbol imports none of them.
    modules = [importlib.import_module(f"abiscan.diagnosis.causes.{name}") for name in MODULES if name not in skipped]
    causes = ranked(candidate for module in modules for candidate in module.causes(missing))[:_MOST]
    if causes and causes[0].cause is CauseId.TEMPLATE_MANGLING and causes[0].confidence is Confidence.HIGH:
        # The name is of another compiler: no release of torch exports it, whatever its signature.
        return tuple(each for each in causes if each.cause not in _OF_OTHER_RELEASES)
    return causes
