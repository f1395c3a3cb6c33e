"""Makes causes from a message in a text: fills in the templates of its answer."""

from __future__ import annotations

from functools import partial
from typing import Final

from msgspec.structs import replace

from abiscan.diagnosis.facts.computed_facts import FACTS
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.readings.found_subjects import FoundSubject
from abiscan.diagnosis.readings.match_messages import FoundMessage
from abiscan.diagnosis.templates.templates import PLACE, PlaceValues, fill_causes
from abiscan.model.cause import CauseId
from abiscan.model.subject import SubjectKind


def subject_of(found: FoundMessage) -> tuple[str, SubjectKind]:
    """Text and kind of the subject. A message that names no subject is the subject itself."""
    answer = found.answer
    text = PLACE.sub(lambda place: found.values.get(place[1]) or place[2] or "", answer.text)
    if text or not answer.text:
        return text or found.quote, answer.kind
    return found.quote, SubjectKind.RUNTIME_ERROR


def is_of_text(found: FoundSubject | FoundMessage) -> bool:
    """Whether it is about the text as a whole, in however many words."""
    return isinstance(found, FoundMessage) and found.answer.only_alone


def candidates(found: FoundMessage, missing: MissingName) -> Candidates:
    """The causes with conditions that hold."""
    values = PlaceValues({**found.values, "quote": found.quote}, missing, FACTS)
    of_source_build = _of_source_build(found, missing, values)
    if of_source_build is not None:
        yield of_source_build
    rows = (row for row in found.answer.cause if of_source_build is None or row.cause not in _OF_RELEASES)
    may_need_no_build = _is_failed_build(found, missing)
    for candidate in fill_causes(rows, values):
        fix = partial(_with_wheel, candidate, values) if may_need_no_build else candidate.fix
        # Without a value, no sentence may be left: then the message is the evidence.
        yield replace(candidate, evidence=candidate.evidence or (found.quote,), fix=fix)


_WHEEL: Final = "or install its wheel for this torch, without a build:"


def _is_failed_build(found: FoundMessage, missing: MissingName) -> bool:
    """Whether a compiler failed, and the text names a release of torch that it compiles for."""
    is_build = found.answer.kind is SubjectKind.COMPILE_ERROR and not found.answer.only_alone
    return is_build and missing.target is not None and not missing.knowledge.target_from_source


def _with_wheel(candidate: Candidate, values: PlaceValues) -> str:
    """The fix, and the published wheel of the package for the torch of the text, if there is one."""
    fix = candidate.fix_text
    wheel = values.get("reinstall_package") if values.hold(("wheel_of_package", "published_wheel")) else None
    return fix if wheel is None or wheel.partition("\n")[0] in fix else f"{fix}\n{_WHEEL}\n{wheel}"


# Of no release are the exports of a torch that was built from source.
_OF_RELEASES: Final = frozenset((CauseId.BUILT_FOR_NEWER_TORCH, CauseId.BUILT_FOR_OLDER_TORCH))


def _of_source_build(found: FoundMessage, missing: MissingName, values: PlaceValues) -> Candidate | None:
    """One cause in place of those that compare releases of torch, if torch was built from source."""
    rows = [row for row in found.answer.cause if row.cause in _OF_RELEASES and values.hold(row.when)]
    rebuild = values.get("companion_build") or values.get("rebuild")
    is_built = found.answer.kind is SubjectKind.COMPILE_ERROR  # against the torch that is there
    # A Python name of torch itself is there, or not, whatever the extensions were built for.
    of_torch = found.answer.kind is SubjectKind.PYTHON_NAME and values.get("package") == "torch"
    if not rows or rebuild is None or is_built or of_torch or not missing.knowledge.target_from_source:
        return None
    best = max(rows, key=lambda row: row.score)
    here = (
        "torch was built from source" if missing.target is None else f"{missing.target_label} is not a build of PyTorch"
    )
    evidence = f"{here}: an extension that was built for a release of torch may not load with it."
    return Candidate(CauseId.DISTRIBUTION_VARIANT, max(best.score, 0.8), (evidence,), rebuild)
