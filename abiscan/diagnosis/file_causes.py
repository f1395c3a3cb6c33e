"""The causes of a whole file: those of each missing import, merged, since one cause often explains many imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from abiscan.diagnosis.catalogue.cause_catalogue import OTHER_LIBRARY, title
from abiscan.diagnosis.knowledge import Knowledge
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, ranked
from abiscan.diagnosis.reference import Reference, ReferringFile
from abiscan.diagnosis.symbol_causes import causes_of
from abiscan.model.cause import CauseGroup, CauseId, Diagnosis
from abiscan.model.facts import SharedObject
from abiscan.model.imports import CheckedImport, Owner, Status
from abiscan.model.platforms import OperatingSystem, system_of
from abiscan.ownership.torch_names import is_torch_library

# Maximum evidence of a group; each import keeps all of its own.
_EVIDENCE = 4
# Bonus of the file's leading cause for an import that it explains too.
_PULL = 0.15


# Name and version from metadata, if known.
Distribution = tuple[str | None, str | None]


def diagnose(
    file: SharedObject,
    imports: Sequence[CheckedImport],
    knowledge: Knowledge,
    *,
    libraries: Sequence[str] = (),
    distribution: Distribution = (None, None),
    each_import: bool = True,
) -> Diagnosis:
    """Find causes for unresolved imports and for missing libraries.

    Args:
        file: facts of the file that needs them.
        imports: any of its imports; resolved and weak ones have no causes.
        knowledge: known facts about the target, the releases and the machine.
        libraries: sonames of needed libraries that were not found: a cause even without missing imports.
        distribution: name and version of the package, from its metadata, for commands of fixes.
        each_import: whether the causes of each import are needed, and not only those of the file.
    """
    referring = ReferringFile(file.path, file, *distribution)
    absent = _library_candidates(referring, libraries, knowledge)
    candidates_of = [
        (
            bound,
            _library_causes(bound, absent)
            or _prefer_absent_library(bound, _candidates(referring, bound, knowledge), absent)
            if bound.status.may_be_unresolved
            else (),
        )
        for bound in imports
    ]
    weights: Counter[CauseId] = Counter()
    for _bound, candidates in candidates_of:
        for candidate in candidates:
            weights[candidate.cause] += round(candidate.score * 100)
    settled = [(bound, _reordered(candidates, weights)) for bound, candidates in candidates_of]
    return Diagnosis(
        {
            bound.name: tuple(candidate.as_cause() for candidate in candidates)
            for bound, candidates in settled
            if candidates and each_import
        },
        _groups(settled, {soname: found[0] for soname, found in absent.items() if found}, knowledge),
    )


def _candidates(file: ReferringFile, bound: CheckedImport, knowledge: Knowledge) -> tuple[Candidate, ...]:
    version = bound.symbol.version
    library, version_name = (None, None) if version is None else (version.library, version.name)
    if bound.owner is Owner.PYTHON:
        library = bound.symbol.library
    reference = Reference(bound.name, library, version_name, bound.owner, bound.status, bound.provider)
    return _for_shell(causes_of(MissingName(reference, knowledge, file)), knowledge)


def _for_shell(candidates: tuple[Candidate, ...], knowledge: Knowledge) -> tuple[Candidate, ...]:
    """The candidates with commands for the shell of the platform of the file."""
    if system_of(knowledge.machine) is not OperatingSystem.WINDOWS:
        return candidates
    from abiscan.diagnosis.fixes.windows_commands import for_windows

    return tuple(replace(each, fix=lambda each=each: for_windows(each.fix_text)) for each in candidates)


def _library_candidates(
    file: ReferringFile, libraries: Sequence[str], knowledge: Knowledge
) -> dict[str, tuple[Candidate, ...]]:
    """Causes for each missing library, best first."""
    if not libraries:
        return {}
    from abiscan.diagnosis.libraries import missing_library

    return {
        soname: _for_shell(
            ranked(
                missing_library.causes(
                    soname.rpartition("/")[2], MissingName(Reference(soname, status=Status.MISSING), knowledge, file)
                )
            ),
            knowledge,
        )
        for soname in libraries
    }


def _library_causes(bound: CheckedImport, absent: Mapping[str, tuple[Candidate, ...]]) -> tuple[Candidate, ...]:
    """Why the library of a versioned reference is missing; no other library defines the version."""
    version = bound.symbol.version
    return absent.get(version.library, ()) if version is not None and bound.status is Status.UNDECIDED else ()


# Causes that apply only if every library was read.
_EVERY_LIBRARY_READ = frozenset({CauseId.EXTENSION_SOURCE_NOT_BUILT, CauseId.LIBRARY_NOT_LINKED})


def _prefer_absent_library(
    bound: CheckedImport, candidates: tuple[Candidate, ...], absent: Mapping[str, tuple[Candidate, ...]]
) -> tuple[Candidate, ...]:
    """An undecided symbol most likely comes from a missing library: put that first."""
    if bound.status is not Status.UNDECIDED or (candidates and candidates[0].cause not in _EVERY_LIBRARY_READ):
        return candidates
    first = next((found[:1] for soname, found in absent.items() if found and not is_torch_library(soname)), ())
    return first + candidates


def _reordered(candidates: tuple[Candidate, ...], weights: Counter[CauseId]) -> tuple[Candidate, ...]:
    """Order nearly equal causes of one import by the number of the file's other imports that they explain. A file is
    built once, by one compiler for one torch."""
    if len(candidates) < 2:
        return candidates
    leading = max(candidate.score for candidate in candidates)
    total = max(weights.values())

    def position(candidate: Candidate) -> float:
        near = candidate.score >= leading - _PULL
        return -(candidate.score + (_PULL * weights[candidate.cause] / total if near else 0.0))

    return tuple(sorted(candidates, key=position))


def _groups(
    settled: Sequence[tuple[CheckedImport, tuple[Candidate, ...]]],
    libraries: Mapping[str, Candidate],
    knowledge: Knowledge,
) -> tuple[CauseGroup, ...]:
    members: dict[CauseId, list[tuple[CheckedImport, Candidate]]] = {}
    for bound, candidates in settled:
        if candidates:
            members.setdefault(candidates[0].cause, []).append((bound, candidates[0]))
    absent: dict[CauseId, list[tuple[str, Candidate]]] = {}
    for soname, candidate in libraries.items():
        absent.setdefault(candidate.cause, []).append((soname, candidate))
    groups = []
    for cause in dict.fromkeys((*members, *absent)):
        rows = members.get(cause, [])
        best = max([candidate for _bound, candidate in rows or absent[cause]], key=lambda found: found.score)
        names = tuple(sorted(bound.name for bound, _candidate in rows))
        evidence = list(dict.fromkeys(best.evidence))[:_EVIDENCE]
        lacking = [soname for soname, _candidate in absent.get(cause, ())]
        # For a single library without imports, the evidence above has it.
        if (rows and lacking) or len(lacking) > 1:
            evidence.append(f"Not found: {', '.join(lacking)}.")
        elsewhere = bool(rows) and all(bound.owner is not Owner.TORCH for bound, _candidate in rows)
        heading = title(cause, knowledge.target, best.form or (OTHER_LIBRARY if elsewhere else ""))
        groups.append(CauseGroup(cause, best.confidence, heading, tuple(evidence), best.fix_text, names))
    of_torch = {candidate.cause for soname, candidate in libraries.items() if is_torch_library(soname)}
    missing = {bound.name for bound, _candidates in settled if bound.status is Status.MISSING}
    return tuple(
        sorted(
            groups,
            key=lambda group: (
                # The loader maps libraries before it resolves symbols: missing libraries of torch are as bad as missing
                # symbols.
                not (any(name in missing for name in group.symbols) or group.cause in of_torch),
                knowledge.no_variant_loads and group.cause is CauseId.CUDA_BUILD_REQUIRED,
                -len(group.symbols) * _weight(members.get(group.cause, ())),
                group.cause,
            ),
        )
    )


def _weight(rows: Sequence[tuple[CheckedImport, Candidate]]) -> float:
    return sum(candidate.score for _bound, candidate in rows) / max(len(rows), 1)
