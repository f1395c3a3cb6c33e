"""built-for-newer-torch, built-for-older-torch: only releases after, or before, the target export the name, or the
release in a text exports it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Final

from msgspec.structs import replace

from abiscan.diagnosis.fixes import extension_fixes, package_commands, torch_fixes
from abiscan.diagnosis.fixes.libtorch_programs import find_program, load_libtorch
from abiscan.diagnosis.fixes.safe_names import safe
from abiscan.diagnosis.fixes.torch_ranges import torch_range
from abiscan.diagnosis.fixes.wheel_rows import releases_of, rows_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.other_builds import is_other_build
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.related_exports import is_same_instance
from abiscan.diagnosis.release_position import Position
from abiscan.diagnosis.target_string_abi import is_stated_unlike_release
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.mangling import string_abi, tagged_string_abi
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.versions import ReleaseRanges
from abiscan.releases.build import loaded_globally

# The score of a guess: a name in a namespace of torch that no known release exports.
_GUESS = 0.45
# Scopes of builds for ROCm and XPU, which the release index does not have.
_NOT_INDEXED: Final = frozenset(("hip", "xpu"))
_DECIDE = "The installed torch is unknown: pass --torch VERSION."


def causes(missing: MissingName) -> Candidates:
    """Causes for each possible position of the target among the releases that export the name."""
    if not missing.is_torch_name or missing.file.is_torch_itself:
        yield from _of_stated_release(missing)
        return
    labelled, compared = tuple(by_label(missing)), tuple(_by_exports(missing))
    contradicts = {labelled[0].cause, compared[0].cause} == _OPPOSITES if labelled and compared else False
    for each in (*labelled, *compared):
        # The wheel that the text names is not the file that is loaded, or its torch not the one that is.
        yield replace(each, score=min(each.score, _OF_CONTRADICTION)) if contradicts else each
    yield from _of_stated_release(missing)


_OPPOSITES: Final = frozenset((CauseId.BUILT_FOR_NEWER_TORCH, CauseId.BUILT_FOR_OLDER_TORCH))
_OF_CONTRADICTION: Final = 0.72


def _by_exports(missing: MissingName) -> Candidates:
    """From the releases that export the name."""
    if missing.is_of_linux_alone or (missing.reference.msvc and string_abi(missing.name) is not None):
        return  # Windows has one std::string: of the two forms in Linux builds either is exported there
    ended = missing.position in (Position.AFTER, Position.UNKNOWN)
    if ended and missing.knowledge.target_from_source and string_abi(missing.name) == "old":
        return  # releases had the old string for long; source builds use that of their compiler
    match missing.position:
        case Position.BEFORE:
            yield from _newer(missing)
        case Position.AFTER:
            yield from _older(missing)
        case Position.GAP:
            yield from _gap(missing)
        case Position.NEVER if not missing.is_of_other_compiler:
            yield from _never(missing)
        case Position.UNKNOWN if not missing.is_of_other_compiler:
            yield from _unknown(missing)


def by_label(missing: MissingName) -> Candidates:
    """From the version label of an extension, if a text has both it and the installed torch."""
    made_for, target = missing.log.made_for, missing.target
    if made_for is None or target is None:
        return
    extension, wanted = made_for
    here, at = (versions.order(target.version) or ())[:2], (versions.order(wanted) or ())[:2]
    if not here or not at or here == at:
        return
    newer = at > here
    evidence = (
        f"{extension} is built for torch {wanted} (by its version label); the torch in the text is "
        f"{missing.target_label}.",
    )
    project = safe(extension, "the extension")
    package = package_commands.find_package(missing, extension)
    fix = f"Install the build of {project} for torch {versions.minor(target.version)}, or torch {wanted}."
    if package is not None:
        fix = "\n".join((*package_commands.install(package, missing), f"or torch {wanted}, which it is built for"))
    cause = CauseId.BUILT_FOR_NEWER_TORCH if newer else CauseId.BUILT_FOR_OLDER_TORCH
    yield Candidate(cause, 0.9, evidence, fix)


def by_release(missing: MissingName) -> Candidates:
    """From the release of a package, if a text has both it and the installed torch, and the catalogue its wheels."""
    package, at = (
        package_commands.find_package(missing, missing.log.project or None),
        versions.order(missing.target_version),
    )
    release = missing.log.project_release
    if package is None or package.name != missing.log.project or not release or at is None:
        return
    # A row has the last release for each torch.
    rows = (releases_of(wheels).items() for wheels in rows_of(package, missing))
    known = [((versions.order(torch) or ())[:2], its) for torch, its in chain.from_iterable(rows)]
    install = "\n".join(package_commands.install(package, missing)) if known else ""
    for kind, torch, its in _for_other_torch(release, at[:2], known):
        commands = {"package": package.name, "torch": ".".join(map(str, torch)), "its": its, "install": install}
        last = next((each for of, each in known if of == at[:2]), "")
        yield from row_causes(
            "release-for-other-torch", missing, commands=commands, release=release, last=last, kind=kind
        )


def _for_other_torch(
    release: str, at: versions.Order, known: list[tuple[versions.Order, str]]
) -> Iterator[tuple[str, versions.Order, str]]:
    """Why a release is not for the torch of the target, with the torch that it, or a listed release near it, is for:
    `older` or `newer`; `before` a release for an older torch; `behind` the last one for the target."""
    fitting = {torch for torch, its in known if f"{release}.".startswith(f"{its}.")}
    if fitting:
        # A release for the newest torch of the catalogue may load with a later one.
        newest = max(torch for torch, _its in known)
        if max(fitting) < at and newest not in fitting:
            yield "older", max(fitting), release
        elif min(fitting) > at:
            yield "newer", max(fitting), release
        return
    order = versions.order(release) or ()
    earlier = [(torch, its) for torch, its in known if order and torch < at and order < (versions.order(its) or ())]
    later = [(torch, its) for torch, its in known if torch > at and order <= (versions.order(its) or ())]
    last = next((versions.order(its) or () for torch, its in known if torch == at), None)
    if earlier:
        yield "before", *min(earlier)
    if later and last is not None and order > last:
        yield "behind", *min(later)


def _newer(missing: MissingName) -> Candidates:
    assert missing.exported_in
    assert missing.target is not None
    is_new = tagged_string_abi(missing.name) == "new"
    if missing.target.cxx11_abi is None and missing.knowledge.target_from_source and is_new:
        return  # releases adopted the C++11 string late; source builds use that of their compiler
    first = missing.exported_in.first
    evidence = [f"{missing.target_label} is older than {first}, the first release that exports {missing.shown}."]
    # What is linked was compiled with the headers of the target, which declare the name.
    declared = missing.reference.link_time and not missing.in_oldest_known
    if missing.knowledge.target_is_before_index and (missing.in_oldest_known or declared):
        score = 0.45 if declared else 0.58
        oldest = missing.known_versions[0] if declared and missing.known_versions else first
        evidence = [
            missing.exported_text,
            f"{missing.target_label} is older than {oldest}, the first indexed release: whether it exports the symbol "
            f"is unknown.",
        ]
    else:
        score = 0.85 if missing.knowledge.target_is_before_index else 0.82
        evidence.append(missing.exported_text)
        if string_abi(missing.name) == "new" and is_stated_unlike_release(missing):
            score = 0.7  # the known builds of the release have the old string, this one the new
        if (versions.order(missing.target.version) or ())[:3] == (versions.order(first) or ())[:3]:
            score = 0.71
            evidence.append(
                f"Against it: {missing.target_label} is a nightly before {first} and may already export the symbol."
            )
    fix = partial(torch_fixes.rebuild_or_install, missing, missing.exported_in)
    change = ""
    if _lacks_const_data_ptr(missing):
        reason = f"The headers of {missing.target_label} have no const_data_ptr: a source that calls it needs a change."
        evidence.insert(1, reason)
        change = f"{extension_fixes.rewrite_const_data_ptr(missing)}\n"
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, score, tuple(evidence), f"{change}{fix()}" if change else fix)


# ATen/core/TensorBase.h of 2.1.0 is the first that declares it.
_FIRST_WITH_CONST_DATA_PTR: Final = (2, 1)


def _lacks_const_data_ptr(missing: MissingName) -> bool:
    """Whether the target's headers declare no at::TensorBase::const_data_ptr, so that a call of it does not compile."""
    at = versions.order(missing.target_version)
    is_of_it = missing.cxx is not None and missing.cxx.qualified == "at::TensorBase::const_data_ptr"
    return is_of_it and at is not None and at[:2] < _FIRST_WITH_CONST_DATA_PTR


def _older(missing: MissingName) -> Candidates:
    assert missing.exported_in
    last = missing.exported_in.last
    newer = f"{missing.target_label} is newer than {last}, the last release that exports {missing.shown}."
    fix = partial(torch_fixes.rebuild_or_install, missing, missing.exported_in)
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.82, (newer, missing.exported_text), fix)


def _gap(missing: MissingName) -> Candidates:
    assert missing.exported_in
    assert missing.target is not None
    target = missing.target.version
    before, after = missing.exported_in.last_before(target), missing.exported_in.first_after(target)
    evidence = (
        missing.exported_text,
        f"{missing.target_label} is between them: the symbol was removed after {before} and added again in {after}.",
    )
    fix = torch_fixes.rebuild_or_install(missing, missing.exported_in)
    is_undecided = missing.file.facts is None and not missing.log.compiled_for
    assert before is not None
    assert after is not None
    first, newest = missing.known_versions[0], missing.known_versions[-1]
    since, last = torch_fixes.with_wheels_here(
        missing, missing.exported_in.intersect(ReleaseRanges(((after, newest),)))
    )
    later = f"pip install {torch_range(since, last)}" if since else ""
    if later and later not in fix and is_undecided and not missing.knowledge.target_from_source:
        fix += f"\nor, if the file was built for torch {after} or later: {later}"
    # The file name has the CPython version, and each torch supports only some.
    until, _ = torch_fixes.with_wheels_here(missing, missing.exported_in.intersect(ReleaseRanges(((first, before),))))
    older = 0.7 if until or not since else 0.58
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, older, evidence, fix)
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.64, evidence, fix)


def _never(missing: MissingName) -> Candidates:
    """A torch name that no known build exports: from before the index, from a later torch, or of another compiler."""
    evidence = [missing.exported_text]
    if missing.other_system is not None and not missing.macho and not missing.related:
        yield from row_causes("torch-of-another-system", missing)
        return
    if missing.cxx is not None and not _NOT_INDEXED.isdisjoint(missing.cxx.scope):
        return  # `gpu_builds` explains it
    first, last = missing.known_versions[0], missing.known_versions[-1]
    same = [form for form in missing.related if form.same_function]
    older, newer = _GUESS + 0.15, _GUESS - 0.1
    forms = [form for form in missing.related if is_same_instance(missing.parsed, form)]
    if forms:
        names = " and ".join(dict.fromkeys(form.where for form in forms[:2]))
        evidence.append(f"{forms[0].parsed.qualified} has another signature in torch {names}.")
    elif missing.related:
        other = missing.related[0]
        evidence.append(
            f"torch {other.where} exports other instances of the template {other.parsed.qualified}: a file that uses "
            f"one contains it, or was built for a torch that does."
        )
    else:
        evidence.append(
            f"No known release exports a similar function: it is from a torch before {first} or after {last}, or not "
            f"from torch."
        )
    if missing.knowledge.target_is_before_index:
        older, newer = _GUESS + 0.1, _GUESS + 0.03
        evidence.append(
            f"{missing.target_label} is older than the index: the file may be built for an older or a newer torch."
        )
    elif missing.knowledge.target_is_after_index:
        older, newer = _GUESS, _GUESS + 0.1
    if same or missing.reference.spelled_as.startswith("_Z"):
        older, newer = older - 0.25, newer - 0.2  # or the name is truncated
    fix = "\n".join(extension_fixes.reinstall(missing))
    if compilers := torch_fixes.with_new_string(missing):
        fix += f"\nor, if that torch was built with the new std::string: the same {compilers}"
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, older, tuple(evidence), fix)
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, newer, tuple(evidence), fix)


def _unknown(missing: MissingName) -> Candidates:
    """Unknown target: the releases that export the name show what the file was made for."""
    fix = torch_fixes.rebuild_or_install(missing, missing.exported_in or ReleaseRanges())
    if missing.exported_in is None:
        evidence: tuple[str, ...] = (missing.exported_text,)
        if missing.target is None or missing.knowledge.releases is None:
            name = f"{missing.shown} is a torch symbol."
            evidence = (
                name,
                "The release that exports it is unknown: no release index and no installed torch are available.",
                _DECIDE,
            )
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.4, evidence, fix)
    elif missing.target is not None:
        # Newer than the index, or not a version.
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, _GUESS, (missing.exported_text,), fix)
    elif not missing.exported_in:
        yield from _never(missing)
    else:
        yield from _conditional(missing, missing.exported_in, fix)


def _conditional(missing: MissingName, ranges: ReleaseRanges, fix: str) -> Candidates:
    """Unknown torch: one cause for each side of the ranges, with its condition. Scores follow the frequency in reports
    (`tests/diagnosis/data`): a name that a release added is missing from an older torch; one that it removed, from a
    newer."""
    begins, ends = ranges.first, ranges.last
    if_older = f"Your torch may be older than {begins}, the first release that exports {missing.shown}."
    if_newer = f"Your torch may be newer than {ends}, the last release that exports {missing.shown}."
    newer = (if_older, missing.exported_text)
    older = (if_newer, missing.exported_text)
    upgrade, _, other_torch = fix.partition("\nor: ")
    if missing.in_newest_known and other_torch.startswith("pip install") and "pip install --upgrade " in upgrade:
        # A newer release of the extension is for an even newer torch.
        fix = f"{other_torch}\nor: Install the release of the extension that was made for this torch, or build it here"
    fix = torch_fixes.by_release(missing, ranges, fix)
    if not missing.in_newest_known:
        # Only releases with wheels for the Python count.
        older_ones, newer_ones = _installable_beside(missing, begins, ends)
        if not missing.in_oldest_known and older_ones and not newer_ones:
            beyond = (
                f"Against it: no release after {ends} has wheels for CPython {missing.loading_python}, which loads it."
            )
            yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.4, (older[0], beyond, *older[1:]), fix)
            yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.6, newer, fix)
            return
        form = "" if missing.in_oldest_known else _EITHER_SIDE
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.6, older, fix, form)
        if form:
            # The more releases are on one side of the range, the likelier the torch is one of them.
            score = 0.57 if older_ones >= newer_ones else 0.45 if loaded_globally(ends) else 0.54
            yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, score, newer, fix, form)
        return
    if len(ranges) > 1:
        before, after = ranges[-2][1], ranges[-1][0]
        gap = (
            f"Your torch may be newer than {before} and older than {after}: these releases do not export "
            f"{missing.shown}.",
            missing.exported_text,
        )
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.6, gap, fix, _EITHER_SIDE)
    # A torch from before 1.0, where the index begins, is rare.
    score = 0.58 if not missing.in_oldest_known else 0.54 if len(ranges) > 1 else 0.38
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, score, newer, fix)


def _installable_beside(missing: MissingName, begins: str, ends: str) -> tuple[int, int]:
    """Number of known releases before and after a range, with wheels for the Python that loads the file."""
    first, last = versions.order(begins), versions.order(ends)
    places = [at for release in missing.installable_versions if (at := versions.order(release)) is not None]
    return sum(first is not None and at < first for at in places), sum(last is not None and at > last for at in places)


# Maximum number of releases between a range's end and a near release: about two years.
_NEAR = 13
_FAR = 0.54
# Titles of both causes: the stated release has the symbol; the torch is before or after those that have it.
_OTHER_TORCH, _EITHER_SIDE = "other-torch", "either-side"


def _of_stated_release(missing: MissingName) -> Candidates:
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
        score = _score_of_stated(missing, distance, newer and not unknown) if place == 0 else _FAR
        yield Candidate(cause, score, evidence, _stated_fix(target.version, missing), _OTHER_TORCH)


def _score_of_stated(missing: MissingName, distance: int, newer: bool) -> float:
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
