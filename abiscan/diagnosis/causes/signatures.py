"""signature-changed: the same function is exported with other parameters. Both are shown, and what differs is
marked."""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.missing_name import Inquiry, Kin, Place
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.mangling import Difference, DifferenceKind
from abiscan.mangling.canonical import to_cuda
from abiscan.model.cause import CauseId
from abiscan.model.versions import Windows

_WORDS = {
    DifferenceKind.PARAMETERS: "parameter",
    DifferenceKind.TEMPLATE_ARGS: "template argument",
    DifferenceKind.NAMESPACE_ALIAS: "type",
    DifferenceKind.RETURN_TYPE: "return type",
    DifferenceKind.QUALIFIERS: "qualifiers",
    DifferenceKind.STRING_ABI: "std::string",
}
# More of them would bury the one that matters.
_MARKED = 4


def causes(inquiry: Inquiry) -> Candidates:
    """Kin with other parameters in the target, else in the releases around the target."""
    if inquiry.cxx is None or not inquiry.is_torch_name or inquiry.is_torch_itself:
        return
    if inquiry.spelled_as is not None and inquiry.windows:
        # The parameters were not told (MSVC's decoration), so nothing says that they differ.
        return
    changed = [kin for kin in inquiry.kin if _is_changed(inquiry, kin) and not _coexists(inquiry, kin)]
    if not changed:
        yield from _of_macos(inquiry)
        return
    here = [kin for kin in changed if kin.in_target]
    elsewhere = [kin for kin in changed if kin.in_target is None]
    if inquiry.place is Place.INSIDE and not inquiry.knowledge.exact:
        return
    if here:
        kin = min(here, key=_distance)
        score = 0.9 if inquiry.place is not Place.NEVER else 0.8
        if DifferenceKind.ENTITY in kin.kinds:
            score = 0.78
        elif len(here) > 3:
            # Many overloads: that some other one is exported says little of this one.
            score -= 0.15
        where = inquiry.target_label
    elif elsewhere:
        # No target: the change is a fact, and on which side of it the installed torch lies would decide.
        kin = min(elsewhere, key=_distance)
        score = 0.65 if not inquiry.windows or inquiry.windows[-1][1] != inquiry.known_versions[-1] else 0.45
        where = f"torch {kin.where}"
    else:
        return
    evidence = [f"{where} has {inquiry.cxx.qualified} in another form: {_shown(kin)}; wanted is {inquiry.shown}."]
    if inquiry.spelled_as is None:
        evidence.append(f"What differs: {_marked(kin)}.")
    if here and kin.windows:
        evidence.append(f"That form is exported by torch {kin.windows.text()}.")
    evidence.append(inquiry.exported_text)
    yield Candidate(
        CauseId.SIGNATURE_CHANGED,
        score,
        tuple(evidence),
        fixes.rebuild_or_install(inquiry, inquiry.windows or Windows()),
    )


def _coexists(inquiry: Inquiry, kin: Kin) -> bool:
    """Whether some release exports both: then the two are overloads, and neither became the other."""
    return bool(kin.windows.intersect(inquiry.windows or Windows()))


def _of_macos(inquiry: Inquiry) -> Candidates:
    """A function that only macOS builds have: the index, of Linux builds, cannot tell a change from a removal."""
    if not inquiry.macho or inquiry.windows or inquiry.kin or inquiry.cxx is None or not inquiry.cxx.is_function:
        return
    evidence = (
        f"{inquiry.shown} may be there with other parameters.",
        "No Linux build exports anything of that name, and the index has no macOS builds.",
        f"nm -gU torch/lib/libtorch_cpu.dylib | grep {fixes.word(inquiry.cxx.base, 'NAME')} would decide.",
    )
    yield Candidate(CauseId.SIGNATURE_CHANGED, 0.4, evidence, fixes.rebuild(inquiry))


def _is_changed(inquiry: Inquiry, kin: Kin) -> bool:
    """Whether a call of the one became a call of the other: same name, other parameters or renamed types in them."""
    kinds = kin.kinds
    if DifferenceKind.ENTITY in kinds:
        # The same function under ROCm's name: what counts is whether its parameters differ beyond the spelling.
        return any(
            d.kind is DifferenceKind.PARAMETERS and to_cuda(d.old or "") != to_cuda(d.new or "")
            for d in kin.differences
        )
    if kinds <= {DifferenceKind.CONSTRUCTOR_VARIANT}:
        return False
    if DifferenceKind.PARAMETERS in kinds:
        return _same_instance(inquiry, kin)
    if DifferenceKind.TEMPLATE_ARGS in kinds:
        return _same_instance(inquiry, kin)
    return DifferenceKind.NAMESPACE_ALIAS in kinds or DifferenceKind.QUALIFIERS in kinds


def _same_instance(inquiry: Inquiry, kin: Kin) -> bool:
    """Whether template arguments agree as far as both have them: `f<long>` and `f<long, 0>`, never `f<int>`."""
    assert inquiry.cxx is not None
    mine, theirs = inquiry.cxx.template_args or (), kin.parsed.template_args or ()
    return all(a == b for a, b in zip(mine, theirs, strict=False))


def _distance(kin: Kin) -> int:
    return sum(2 if d.kind is DifferenceKind.PARAMETERS else 1 for d in kin.differences)


def _shown(kin: Kin) -> str:
    text = kin.parsed.display
    return text if len(text) <= 200 else text[:200] + "..."


def _marked(kin: Kin) -> str:
    shown = [_one(d) for d in kin.differences if d.kind in _WORDS]
    if len(shown) > _MARKED:
        shown = [*shown[:_MARKED], f"and {len(shown) - _MARKED} more"]
    return "; ".join(shown) or "spelling"


def _one(difference: Difference) -> str:
    what = _WORDS[difference.kind]
    if difference.index is not None:
        what = f"{what} {difference.index + 1}"
    if difference.old is None:
        return f"{what}: + {difference.new}"
    if difference.new is None:
        return f"{what}: - {difference.old}"
    return f"{what}: {difference.old} -> {difference.new}"
