"""The causes of a whole file: each missing import's own, and those merged, as one cause often explains forty
imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from abiscan.diagnosis.candidate import Candidate
from abiscan.diagnosis.causes import judge
from abiscan.diagnosis.inquiry import Inquiry
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.summaries import summary
from abiscan.model import BoundImport, Cause, CauseGroup, CauseId, SharedObject, Status
from abiscan.value import value

# What a group shows of its evidence; each import keeps its own in full.
_EVIDENCE = 4
# How much the file's leading cause is preferred for an import that it explains too.
_PULL = 0.15


@value
class Diagnosis:
    """What is wrong with one file.

    Attributes:
        imports: those that were given, in their order, with their causes filled in.
        groups: the causes of the file, most important first, each with the imports it explains best.
    """

    imports: tuple[BoundImport, ...]
    groups: tuple[CauseGroup, ...]

    def causes_of(self, name: str) -> tuple[Cause, ...]:
        """The causes of one import by its mangled name."""
        return next((bound.causes for bound in self.imports if bound.name == name), ())


def diagnose(file: SharedObject, imports: Sequence[BoundImport], knowledge: Knowledge) -> Diagnosis:
    """Find causes for imports that did not bind.

    Args:
        file: the facts of the file that needs them.
        imports: any of its imports; those that are resolved or weak are handed back as they are.
        knowledge: what is known of the target, the releases and the machine.
    """
    judged = [(bound, _judge(file, bound, knowledge) if _is_open(bound) else ()) for bound in imports]
    weights: Counter[CauseId] = Counter()
    for _bound, candidates in judged:
        for candidate in candidates:
            weights[candidate.cause] += round(candidate.score * 100)
    told = [(bound, _reordered(candidates, weights)) for bound, candidates in judged]
    return Diagnosis(
        tuple(
            replace(bound, causes=tuple(candidate.told() for candidate in candidates)) if candidates else bound
            for bound, candidates in told
        ),
        _groups(file, told, knowledge),
    )


def _is_open(bound: BoundImport) -> bool:
    return bound.status in (Status.MISSING, Status.UNREACHABLE, Status.UNDECIDED)


def _judge(file: SharedObject, bound: BoundImport, knowledge: Knowledge) -> tuple[Candidate, ...]:
    version = bound.symbol.version
    return judge(
        Inquiry(
            bound.name,
            knowledge,
            library=version.library if version is not None else None,
            version=version.name if version is not None else None,
            file=file,
            owner=bound.owner,
            status=bound.status,
            provider=bound.provider,
        )
    )


def _reordered(candidates: tuple[Candidate, ...], weights: Counter[CauseId]) -> tuple[Candidate, ...]:
    """Nearly equal readings of one import are settled by what explains more of the file's other imports.

    A file is made once, by one compiler for one torch: a cause that explains many of its imports is likelier for each.
    """
    if len(candidates) < 2:
        return candidates
    leading = max(candidate.score for candidate in candidates)
    total = max(weights.values())

    def place(candidate: Candidate) -> float:
        near = candidate.score >= leading - _PULL
        return -(candidate.score + (_PULL * weights[candidate.cause] / total if near else 0.0))

    return tuple(sorted(candidates, key=place))


def _groups(
    file: SharedObject, told: Sequence[tuple[BoundImport, tuple[Candidate, ...]]], knowledge: Knowledge
) -> tuple[CauseGroup, ...]:
    members: dict[CauseId, list[tuple[BoundImport, Candidate]]] = {}
    for bound, candidates in told:
        if candidates:
            members.setdefault(candidates[0].cause, []).append((bound, candidates[0]))
    groups = []
    for cause, rows in members.items():
        best = max(rows, key=lambda row: row[1].score)
        names = tuple(sorted(bound.name for bound, _candidate in rows))
        evidence = list(dict.fromkeys(best[1].evidence))[:_EVIDENCE]
        if len(names) > 1:
            evidence.append(f"{len(names)} imports have this cause.")
        groups.append(
            CauseGroup(
                cause,
                best[1].confidence,
                summary(cause, knowledge.target),
                tuple(evidence),
                best[1].fix,
                names,
            )
        )
    missing = {bound.name for bound, _candidates in told if bound.status is Status.MISSING}
    return tuple(
        sorted(
            groups,
            key=lambda group: (
                not any(name in missing for name in group.symbols),
                -len(group.symbols) * _weight(members[group.cause]),
                group.cause,
            ),
        )
    )


def _weight(rows: Sequence[tuple[BoundImport, Candidate]]) -> float:
    return sum(candidate.score for _bound, candidate in rows) / len(rows)
