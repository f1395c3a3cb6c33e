"""built-for-newer-torch, built-for-older-torch: the release in a text exports the symbol."""

from __future__ import annotations

from abiscan.diagnosis.fixes import extension_fixes
from abiscan.diagnosis.fixes.libtorch_programs import find_program, load_libtorch
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.other_builds import is_other_build
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.mangling import string_abi
from abiscan.model.cause import CauseId
from abiscan.model.versions import ReleaseRanges
from abiscan.releases.build import loaded_globally

# Maximum number of releases between a range's end and a near release: about two years.
_NEAR = 13
_FAR = 0.54
# The title of both causes: the stated release has the symbol.
_OTHER_TORCH = "other-torch"


def causes(missing: MissingName) -> Candidates:
    """The release in a text exports the symbol, so another torch was loaded. The version is that of the build, or of
    another environment. In reports (`tests/diagnosis/data`) the loaded torch was beyond the nearer end of the range, if
    that is near."""
    if (
        missing.knowledge.exact
        or missing.reference.status is not None
        or missing.file.facts is not None
        or missing.macho
    ):
        return
    target, ranges = missing.target, missing.exported_in
    if target is None or not ranges or missing.reference.link_time or missing.target_library is None:
        return
    at = next((at for at, span in enumerate(ranges) if ReleaseRanges((span,)).contains(target.version)), None)
    if at is None or is_other_build(target):
        return
    begins, ends = ranges[at]
    known = missing.known_versions
    after, until = ReleaseRanges(((begins, target.version),)), ReleaseRanges(((target.version, ends),))
    sides = []
    # A torch before 1.0 with a file for a much later one is not plausible.
    if begins != known[0] or loaded_globally(target.version):
        sides.append((sum(after.contains(v) is True for v in known), CauseId.BUILT_FOR_NEWER_TORCH))
    if ends != known[-1]:
        sides.append((sum(until.contains(v) is True for v in known), CauseId.BUILT_FOR_OLDER_TORCH))
    for place, (distance, cause) in enumerate(sorted(sides)):
        newer = cause is CauseId.BUILT_FOR_NEWER_TORCH
        if newer:
            before = f"newer than {ranges[at - 1][1]} and " if at else ""
            where, other = f"{before}older than {begins}", "a newer"
        else:
            behind = f" and older than {ranges[at + 1][0]}" if at + 1 < len(ranges) else ""
            where, other = f"newer than {ends}{behind}", "an older"
        unknown = newer and begins == known[0]
        lacks = "that is before the first indexed release" if unknown else f"it does not export {missing.shown}"
        evidence = (
            f"The loaded torch may be {where}: {lacks}, and the file was built for {other} one.",
            f"{missing.target_label} exports {missing.shown}: with that torch loaded and linked, the symbol is not "
            f"missing.",
            missing.exported_text,
        )
        score = _score(missing, distance, newer and not unknown) if place == 0 else _FAR
        yield Candidate(cause, score, evidence, _stated_fix(target.version, missing), _OTHER_TORCH)


def _score(missing: MissingName, distance: int, newer: bool) -> float:
    """The score of a torch beyond an end of the range, by number of releases between.

    Args:
        newer: whether the end is the range's beginning, before which releases are known to lack the symbol.
    """
    assert missing.target is not None
    if distance > _NEAR:
        return _FAR
    if missing.target_library is not None and missing.target_library.startswith("libtorch_python"):
        # After a missing link of CMake, before the import order.
        return 0.77
    if not loaded_globally(missing.target.version):
        return 0.66 if missing.reference.before_torch else 0.73
    # Until torch 1.4 extensions did not link torch, so the import order is likelier. But then any symbol is reported,
    # and rarely one with std::string first. For such a symbol a newer torch was the most frequent reason, then the
    # other std::string ABI, then an older torch.
    if string_abi(missing.name) is None or missing.reference.before_torch:
        return 0.66
    return 0.73 if newer else 0.68


def _stated_fix(torch: str, missing: MissingName) -> str:
    if find_program(missing) is not None:
        return load_libtorch(missing, torch)
    ways = "\n".join(extension_fixes.reinstall(missing))
    return (
        'python -c "import torch; print(torch.__version__, torch.__file__)"  # in the environment that fails\n'
        f"If it is not {torch}: run it with torch {torch}, or install the extension for the other release:\n"
        f"{ways}\nIf it is {torch}: see the other causes"
    )
