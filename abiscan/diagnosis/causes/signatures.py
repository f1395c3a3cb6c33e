"""signature-changed: the same function is exported with other parameters. Both are shown, with the differences
marked."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from abiscan.diagnosis.fixes import torch_fixes
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.related_exports import RelatedExport, find_in_target, is_same_instance
from abiscan.diagnosis.release_position import Position
from abiscan.diagnosis.target_string_abi import is_stated_unlike_release
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.mangling import Difference, DifferenceKind, NameKind, string_abi
from abiscan.mangling.canonical import to_cuda
from abiscan.model.cause import CauseId
from abiscan.model.versions import ReleaseRanges
from abiscan.releases.build import SymbolHistory

_WORDS = {
    DifferenceKind.PARAMETERS: "parameter",
    DifferenceKind.TEMPLATE_ARGS: "template argument",
    DifferenceKind.NAMESPACE_ALIAS: "type",
    DifferenceKind.RETURN_TYPE: "return type",
    DifferenceKind.QUALIFIERS: "qualifiers",
    DifferenceKind.STRING_ABI: "std::string",
    DifferenceKind.DECLARATION: "declaration",
}
# With more marks, the important one would be lost.
_MARKED = 4


def causes(missing: MissingName) -> Candidates:
    """A related export with other parameters in the target, else in the releases around it."""
    if missing.cxx is None or not missing.is_torch_name or missing.file.is_torch_itself or missing.is_of_other_compiler:
        return
    spelled = missing.reference.spelled_as
    if spelled and (missing.exported_in or spelled.startswith("_Z")):
        # The text has no parameters (MSVC names, truncated names), so they cannot be compared.
        return
    replacements = missing.find_related(lambda name, history: _may_replace(missing, name, history))
    changed = [form for form in replacements if _is_changed(missing, form)]
    if not changed:
        yield from _macos_function(missing)
        return
    # A source build has the std::string of its compiler, and so the same function under either name.
    of_compiler = missing.knowledge.target_from_source and missing.knowledge.target_cxx11_abi is None
    # So has the function of a build that is unlike the one that the index has of its release.
    of_build = string_abi(missing.name) == "new" and is_stated_unlike_release(missing)
    if (of_compiler or of_build) and any(
        form.kinds == {DifferenceKind.STRING_ABI} and (of_compiler or form.in_target) for form in missing.related
    ):
        return
    if missing.position is Position.INSIDE and not missing.knowledge.exact:
        return
    if missing.knowledge.target_is_before_index and missing.in_oldest_known:
        # The first known release has the symbol itself: later changes are irrelevant for a torch before it.
        return
    yield from _replaced(missing, changed)


def _replaced(missing: MissingName, changed: Sequence[RelatedExport]) -> Candidates:
    """The form of other parameters that replaced the function, in the target or, if that is unknown, in a release."""
    # The index has the names of wheels; another build has its own std::string in them.
    of_wheels = missing.knowledge.target_from_source and not missing.knowledge.exact
    here = [form for form in changed if form.in_target]
    elsewhere = [form for form in changed if form.in_target is None]
    if not here and not elsewhere:
        return
    form, spelled = min(here or elsewhere, key=_distance), missing.reference.spelled_as
    where = missing.target_label if here and not of_wheels else f"torch {form.where}"
    # Unknown target: the change is a fact, and its direction depends on the installed torch.
    score = _score_in_target(missing, form, len(here)) if here else 0.45 if missing.in_newest_known else 0.53
    theirs, mine = _apart(form.parsed.declaration, spelled or missing.parsed.declaration)
    exports = "export" if " and " in where else "exports"
    evidence = [f"{where} {exports} {form.parsed.qualified} with another signature: {theirs}; expected: {mine}."]
    if not spelled:
        evidence.append(f"Differences: {_marked(form, with_string=not of_wheels)}.")
    if here and form.exported_in and not of_wheels:
        evidence.append(f"That signature is exported by torch {form.exported_in.text()}.")
    evidence.append(missing.exported_text)
    yield Candidate(
        CauseId.SIGNATURE_CHANGED,
        score,
        tuple(evidence),
        partial(torch_fixes.rebuild_or_install, missing, missing.exported_in or ReleaseRanges()),
    )


def _score_in_target(missing: MissingName, form: RelatedExport, overloads: int) -> float:
    """The score if the target exports a form.

    Args:
        overloads: number of forms that it exports.
    """
    score = 0.8 if missing.position is Position.NEVER else 0.9
    if DifferenceKind.ENTITY in form.kinds:
        score = 0.78
    elif overloads > 3:
        # Many overloads: another exported one is weak evidence.
        score -= 0.15
    if _is_entry_point(missing) and missing.position is Position.AFTER:
        return min(score, 0.78)
    if missing.position is Position.BEFORE or (missing.position is Position.AFTER and missing.file.facts is None):
        # The torch that the file was built for is stronger evidence; if the file was read, its other imports show that.
        return min(score, 0.81)
    if missing.position is Position.GAP and missing.file.facts is None and not missing.log.compiled_for:
        return min(score, 0.68)  # a file of an older torch is the likelier cause
    return score


def _is_entry_point(missing: MissingName) -> bool:
    """Whether torch headers call it for an operator (`at::_ops::zeros::call`). All of these change together when a
    release renames a type (std::optional, SymInt). No source calls them, so the release is the better cause."""
    return missing.cxx is not None and missing.cxx.qualified.startswith("at::_ops::")


def _may_replace(missing: MissingName, name: str, history: SymbolHistory | None) -> bool:
    """Whether the target may export another name, and no release exports both: otherwise they are overloads, and
    neither replaced the other."""
    if history is not None and missing.exported_in and history.exported_in.intersect(missing.exported_in):
        return False
    return find_in_target(name, history, missing.knowledge)[0] is not False


def _macos_function(missing: MissingName) -> Candidates:
    """A function that no known build exports: a change cannot be distinguished from a removal."""
    if (
        not missing.macho
        or missing.exported_in
        or missing.related
        or missing.cxx is None
        or not missing.cxx.is_function
    ):
        return
    yield from row_causes("function-of-macos-unknown", missing, base=safe(missing.cxx.base, "NAME"))


def _is_changed(missing: MissingName, form: RelatedExport) -> bool:
    """Whether one function replaced the other: same name, with other parameters or renamed types."""
    kinds = form.kinds
    if DifferenceKind.ENTITY in kinds:
        # The same function with its ROCm name: only differences of parameters beyond the spelling count.
        return any(
            d.kind is DifferenceKind.PARAMETERS and to_cuda(d.old or "") != to_cuda(d.new or "")
            for d in form.differences
        )
    if not kinds.isdisjoint({DifferenceKind.PARAMETERS, DifferenceKind.TEMPLATE_ARGS}):
        return is_same_instance(missing.parsed, form)
    if missing.name_kind is NameKind.MSVC and DifferenceKind.RETURN_TYPE in kinds:
        # Microsoft names contain the return type of every function.
        return True
    return not kinds.isdisjoint({DifferenceKind.NAMESPACE_ALIAS, DifferenceKind.QUALIFIERS, DifferenceKind.DECLARATION})


def _distance(form: RelatedExport) -> int:
    return sum(2 if d.kind is DifferenceKind.PARAMETERS else 1 for d in form.differences)


# Maximum length of a printed signature, and of its part before the first difference.
_MOST_SHOWN = 200
_BEFORE = 60


def _apart(theirs: str, mine: str) -> tuple[str, str]:
    """Both, truncated in their common beginning, so that the difference remains."""
    pairs = zip(theirs, mine, strict=False)
    same = next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(theirs), len(mine)))
    longest = max(len(theirs), len(mine))
    # Keep the name: truncate after the parenthesis.
    head = min(theirs.find("(") + 1, _MOST_SHOWN // 2)
    start = same - _BEFORE
    if longest <= _MOST_SHOWN or start <= head:
        return _cut(theirs), _cut(mine)
    return f"{theirs[:head]}...{_cut(theirs[start:])}", f"{mine[:head]}...{_cut(mine[start:])}"


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."


def _marked(form: RelatedExport, *, with_string: bool = True) -> str:
    differences = (d for d in form.differences if with_string or d.kind is not DifferenceKind.STRING_ABI)
    shown = [_one(d) for d in differences if d.kind in _WORDS]
    if len(shown) > _MARKED:
        shown = [*shown[:_MARKED], f"and {len(shown) - _MARKED} more"]
    return "; ".join(shown) or "spelling"


def _one(difference: Difference) -> str:
    what = _WORDS[difference.kind]
    if difference.index is not None:
        at = "at position " if difference.kind is DifferenceKind.STRING_ABI else ""
        what = f"{what} {at}{difference.index + 1}"
    if not difference.old:
        return f"{what} added: {difference.new}"
    if not difference.new:
        return f"{what} removed: {difference.old}"
    return f"{what}: {difference.old} -> {difference.new}"
