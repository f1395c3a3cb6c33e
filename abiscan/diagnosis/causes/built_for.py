"""built-for-newer-torch, built-for-older-torch, distribution-variant: what the history of the name says of the
target."""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.missing_name import MissingName, Position
from abiscan.diagnosis.other_builds import built_from_source, is_other_build
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.mangling import NameKind, string_abi
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.target import TorchKind
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership.torch_names import accelerator_of
from abiscan.releases.build import loaded_globally

# What a name of torch's namespaces is that no known release exports, is a guess.
_GUESS = 0.45
# A window's end is near where at most so many releases lie between it and a stated one, about two years' of them.
_NEAR = 13
_FAR = 0.54


def causes(missing: MissingName) -> Candidates:
    """Every reading of the target's place among the windows."""
    if not missing.is_torch_name:
        return
    if missing.is_torch_itself:
        yield from _mixed(missing)
        return
    yield from by_label(missing)
    match missing.position:
        case Position.BEFORE:
            yield from _newer(missing)
        case Position.AFTER:
            yield from _older(missing)
        case Position.GAP:
            yield from _gap(missing)
        case Position.NEVER:
            yield from _never(missing)
        case Position.UNKNOWN:
            yield from _unknown(missing)
        case Position.INSIDE:
            yield from _stated(missing)
    yield from _variant(missing)


def by_label(missing: MissingName) -> Candidates:
    """What the label of an extension's version says, where a text has both it and the torch that was there."""
    made_for, target = missing.knowledge.made_for, missing.target
    if made_for is None or target is None:
        return
    extension, wanted = made_for
    here, at = (versions.order(target.version) or ())[:2], (versions.order(wanted) or ())[:2]
    if not here or not at or here == at:
        return
    newer = at > here
    evidence = (
        f"The text names {extension} with the label of torch {wanted}, for which it is built; the torch there is "
        f"{missing.target_label}.",
    )
    project = fixes.word(extension, "the extension")
    fix = f"Install the build of {project} for torch {versions.minor(target.version)}, or torch {wanted}."
    cause = CauseId.BUILT_FOR_NEWER_TORCH if newer else CauseId.BUILT_FOR_OLDER_TORCH
    yield Candidate(cause, 0.9, evidence, fix)


def _mixed(missing: MissingName) -> Candidates:
    """A library of torch that misses a name of torch: its libraries are always built together."""
    evidence = [
        f"{missing.base_name} is a library of torch and misses {missing.shown}, a name of torch: libraries of "
        f"two torches are mixed in the process.",
        missing.exported_text,
    ]
    environment = missing.environment
    if environment is not None and len(environment.torches) > 1:
        evidence.append("More than one torch is installed: " + ", ".join(environment.torches) + ".")
    fix = (
        "unset LD_LIBRARY_PATH; pip uninstall -y torch; pip uninstall -y torch  # until none is left, then "
        "install one\n"
        f"ldd {fixes.word(missing.base_name, 'FILE')} | grep -E 'libtorch|libc10'  # shows where another copy is found"
    )
    yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.8, tuple(evidence), fix)
    stale = (
        f"{missing.base_name} misses {missing.shown}, a name of torch.",
        "A torch that was built or installed over an older one may keep a library of the latter.",
    )
    # No build hides a C name.
    yield Candidate(
        CauseId.BUILT_FOR_OLDER_TORCH,
        0.55 if missing.name_kind is NameKind.C else 0.45,
        stale,
        "pip uninstall -y torch; in a source tree: python setup.py clean, and remove build and torch/lib/build",
    )
    hidden = (
        f"{missing.base_name} misses {missing.shown}, a name of torch.",
        "In a torch built from source, the library that defines it may not export it (no TORCH_API at its "
        "declaration).",
    )
    yield Candidate(
        CauseId.SYMBOL_HIDDEN,
        0.5,
        hidden,
        "Build torch again from a clean tree (python setup.py clean), or install a release.",
    )


def _newer(missing: MissingName) -> Candidates:
    assert missing.windows
    assert missing.target is not None
    first = missing.windows[0][0]
    evidence = [f"{missing.target_label} is older than {first}, the first release that exports {missing.shown}."]
    score = 0.82
    if missing.before_index and first == missing.known_versions[0]:
        score = 0.58
        evidence = [
            missing.exported_text,
            f"{missing.target_label} is older than the index, which begins with {first}: that it exports it is open.",
        ]
    else:
        score = 0.85 if missing.before_index else 0.82
        evidence.append(missing.exported_text)
        if (versions.order(missing.target.version) or ())[:3] == (versions.order(first) or ())[:3]:
            score = 0.71
            evidence.append(
                f"Against it: {missing.target_label} is a snapshot on the way to {first}, which may "
                "have the name already."
            )
    yield Candidate(
        CauseId.BUILT_FOR_NEWER_TORCH, score, tuple(evidence), fixes.rebuild_or_install(missing, missing.windows)
    )


def _older(missing: MissingName) -> Candidates:
    assert missing.windows
    assert missing.target is not None
    last = missing.windows[-1][1]
    evidence = [
        f"{missing.target_label} is newer than {last}, the last release that exports {missing.shown}.",
        missing.exported_text,
    ]
    yield Candidate(
        CauseId.BUILT_FOR_OLDER_TORCH, 0.82, tuple(evidence), fixes.rebuild_or_install(missing, missing.windows)
    )


def _gap(missing: MissingName) -> Candidates:
    assert missing.windows
    assert missing.target is not None
    target = missing.target.version
    before, after = missing.windows.last_before(target), missing.windows.first_after(target)
    evidence = (
        missing.exported_text,
        f"{missing.target_label} lies in the gap: the name went after {before} and came back in {after}.",
    )
    fix = fixes.rebuild_or_install(missing, missing.windows)
    # The name of the file says which CPython it is for, and each torch supports only some.
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.66, evidence, fix)
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.64, evidence, fix)


def _never(missing: MissingName) -> Candidates:
    """A name of torch that no known build exports: from before the index, from a later torch, or of another
    compiler."""
    evidence = [missing.exported_text]
    first, last = missing.known_versions[0], missing.known_versions[-1]
    same = [form for form in missing.related if form.same_function]
    older, newer = _GUESS + 0.15, _GUESS - 0.1
    if missing.related:
        names = ", ".join(dict.fromkeys(form.where for form in missing.related[:2]))
        evidence.append(f"{missing.related[0].parsed.qualified} is exported in another form by torch {names}.")
    else:
        evidence.append(
            f"Nothing of this name is exported by any of them: it is of a torch before {first} or after {last}, or of "
            "none."
        )
    if missing.before_index:
        older, newer = _GUESS + 0.1, _GUESS + 0.03
        evidence.append(
            f"{missing.target_label} is older than the index, so the file may be for a torch on either side of it."
        )
    elif missing.after_index:
        older, newer = _GUESS, _GUESS + 0.1
    if same:
        older, newer = older - 0.25, newer - 0.2
    if missing.macho and not missing.related:
        evidence.append("The index holds Linux builds; a function of macOS alone is not in it.")
        older -= 0.05
    fix = fixes.rebuild(missing)
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, older, tuple(evidence), fix)
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, newer, tuple(evidence), fix)


def _unknown(missing: MissingName) -> Candidates:
    """No target: the windows still say what the file was made for, and the version would decide."""
    decide = "Which torch is installed would decide (--torch VERSION)."
    fix = fixes.rebuild_or_install(missing, missing.windows or ReleaseRanges())
    if missing.windows is None and missing.target is not None and missing.knowledge.releases is not None:
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.4, (missing.exported_text,), fix)
        return
    if missing.windows is None:
        yield Candidate(
            CauseId.BUILT_FOR_NEWER_TORCH,
            0.4,
            (
                f"{missing.shown} is a name of torch.",
                "Without the index or the torch that is installed, which one has it is open.",
                decide,
            ),
            fix,
        )
        return
    if missing.target is not None:
        # Newer than the index, or no version at all.
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, _GUESS, (missing.exported_text,), fix)
        return
    if not missing.windows:
        yield from _never(missing)
        return
    yield from _conditional(missing, missing.windows, fix)


def _conditional(missing: MissingName, windows: ReleaseRanges, fix: str) -> Candidates:
    """The torch is not known: each side of the windows on which it may lie, as a condition.

    The scores are in the order of how often reports (`tests/diagnosis/data`) turned out so: a name that came with a
    release is missing from an older torch; one that went with a release from a newer.
    """
    first, last = missing.known_versions[0], missing.known_versions[-1]
    begins, ends = windows[0][0], windows[-1][1]
    decide = "Which torch is installed would decide (--torch VERSION)."
    newer = (
        f"If your torch is older than {begins}: it does not export {missing.shown}, and the file was built for a newer "
        "one.",
        missing.exported_text,
        decide,
    )
    older = (
        f"If your torch is newer than {ends}: it no longer exports {missing.shown}, and the file was built for an "
        "older one.",
        missing.exported_text,
        decide,
    )
    if ends != last:
        # An installer puts no torch beside a Python that has no wheels of it.
        older_ones, newer_ones = _installable_beside(missing, begins, ends)
        if begins != first and older_ones and not newer_ones:
            beyond = (
                f"Against it: no release after {ends} has wheels for CPython {missing.loading_python}, which loads it."
            )
            yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.4, (older[0], beyond, *older[1:]), fix)
            yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.6, newer, fix)
            return
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.6, older, fix)
        if begins != first:
            # The more releases lie on one side of the window, the likelier the torch is one of them.
            score = 0.57 if older_ones >= newer_ones else 0.45 if loaded_globally(ends) else 0.54
            yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, score, newer, fix)
        return
    if len(windows) > 1:
        before, after = windows[-2][1], windows[-1][0]
        gap = (
            f"If your torch is newer than {before} and older than {after}: it does not export {missing.shown}, and the "
            "file was built for one on either side.",
            missing.exported_text,
            decide,
        )
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.6, gap, fix)
    # Hardly anybody has a torch from before 1.0, where the index begins.
    score = 0.58 if begins != first else 0.54 if len(windows) > 1 else 0.38
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, score, newer, fix)


def _installable_beside(missing: MissingName, begins: str, ends: str) -> tuple[int, int]:
    """How many known releases lie before and after a window, of those with wheels for the Python that loads the
    file."""
    first, last = versions.order(begins), versions.order(ends)
    places = [at for release in missing.installable_versions if (at := versions.order(release)) is not None]
    return sum(first is not None and at < first for at in places), sum(last is not None and at > last for at in places)


def _variant(missing: MissingName) -> Candidates:
    """The version's own release exports the name, or nobody can compare this build with a release: another build of
    it."""
    target = missing.target
    if target is None:
        if missing.windows:
            yield Candidate(
                CauseId.DISTRIBUTION_VARIANT,
                0.3,
                (
                    missing.exported_text,
                    "A build from NGC, conda or source may differ from the release of the same version.",
                ),
                fixes.rebuild(missing),
            )
        return
    if target.variant == "cpu" and _of_gpu_library(missing):
        # gpu_builds says why: no CPU build has it.
        return
    evidence = []
    score = 0.0
    odd = is_other_build(target)
    if missing.position is Position.INSIDE and missing.of_linux is not None:
        # What is known of the target is its build of Linux, which has the function under another name.
        score = 0.4
        evidence.append(missing.exported_text)
    elif missing.position is Position.INSIDE and missing.target_library is None:
        score = 0.72
        evidence.append(missing.exported_text)
        if missing.exports_known:
            differs = "has that version and does not export it: it is another build"
        else:
            differs = "is another build of that version, of which that is not known"
        evidence.append(f"{missing.target_label} {differs} (source, conda, NGC, another variant).")
    elif missing.position is Position.INSIDE and not missing.knowledge.exact and missing.status is None:
        score = 0.5
        evidence.append(
            f"The release of version {target.version} exports {missing.shown}, so the torch that was loaded is "
            f"another build or version."
        )
    elif odd and missing.position is not Position.INSIDE:
        score = 0.45 if missing.before_index else 0.6
        if missing.macho and not missing.windows:
            score = 0.3  # builds of macOS are not in the index: that none exports it says nothing of snapshots
        evidence.append(
            f"{missing.target_label} is no release but a build from source or a snapshot, whose exports may be those "
            "of no release."
        )
        evidence.append(missing.exported_text)
    if odd and score:
        score = min(score + 0.06, 0.79)
    if built_from_source(target):
        evidence.insert(
            0,
            f"{missing.target_label} is a build from source, as its version says: what it exports is its commit's, "
            "with its compiler's std::string.",
        )
    if not score:
        return
    release = _release_revision(missing)
    if target.git_revision and release:
        if release == target.git_revision:
            score -= 0.2
            evidence.append(f"Against it: its git revision {release[:10]} is that of the release.")
        else:
            score = min(score + 0.12, 0.9)
            evidence.append(f"Its git revision {target.git_revision[:10]} is not that of the release ({release[:10]}).")
    if missing.environment is not None and len(missing.environment.torches) > 1:
        score = min(score + 0.08, 0.9)
        evidence.append("More than one torch is installed: " + ", ".join(missing.environment.torches) + ".")
    if missing.name_kind is NameKind.C:
        score -= 0.1
    yield Candidate(CauseId.DISTRIBUTION_VARIANT, score, tuple(evidence), _variant_fix(missing))


def _stated(missing: MissingName) -> Candidates:
    """The release that a text states exports the name, so it is not missing beside that one: another was loaded.

    The version is then that of the build, or of another environment. In reports (`tests/diagnosis/data`) the torch that
    was loaded lay beyond the nearer end of the window, where that end is near.
    """
    if missing.knowledge.exact or missing.status is not None or missing.file is not None or missing.macho:
        return
    target, windows = missing.target, missing.windows
    if target is None or not windows or missing.link_time or missing.target_library is None:
        return
    at = next((at for at, span in enumerate(windows) if ReleaseRanges((span,)).contains(target.version)), None)
    if at is None or is_other_build(target):
        return
    begins, ends = windows[at]
    known = missing.known_versions
    after, until = ReleaseRanges(((begins, target.version),)), ReleaseRanges(((target.version, ends),))
    sides = []
    # A torch before 1.0 beside a file for one of many years later is nobody's.
    if begins != known[0] or loaded_globally(target.version):
        sides.append((sum(after.contains(v) is True for v in known), CauseId.BUILT_FOR_NEWER_TORCH))
    if ends != known[-1]:
        sides.append((sum(until.contains(v) is True for v in known), CauseId.BUILT_FOR_OLDER_TORCH))
    for place, (distance, cause) in enumerate(sorted(sides)):
        newer = cause is CauseId.BUILT_FOR_NEWER_TORCH
        if newer:
            before = f"newer than {windows[at - 1][1]} and " if at else ""
            where, other = f"{before}older than {begins}", "a newer"
        else:
            behind = f" and older than {windows[at + 1][0]}" if at + 1 < len(windows) else ""
            where, other = f"newer than {ends}{behind}", "an older"
        unknown = newer and begins == known[0]
        lacks = "the index, which begins there, does not know it" if unknown else f"it does not export {missing.shown}"
        evidence = (
            f"If the torch that was loaded is {where}: {lacks}, and the file was built for {other} one.",
            f"{missing.target_label} exports {missing.shown}: beside that very torch, loaded and linked, it is not "
            "missing.",
            missing.exported_text,
        )
        score = _stated_score(missing, distance, newer and not unknown) if place == 0 else _FAR
        yield Candidate(cause, score, evidence, _stated_fix(target.version))


def _stated_score(missing: MissingName, distance: int, newer: bool) -> float:
    """How likely the torch that was loaded lies beyond an end of the window that is so many releases away.

    Args:
        newer: whether the end is the window's beginning, before which releases are known not to have the name.
    """
    assert missing.target is not None
    if distance > _NEAR:
        return _FAR
    if missing.target_library is not None and missing.target_library.startswith("libtorch_python"):
        # Behind the link that CMake leaves out, before the order of imports.
        return 0.77
    if not loaded_globally(missing.target.version):
        return 0.66 if missing.before_torch else 0.73
    # Up to torch 1.4 nothing was linked, and the order of imports is the likelier; any name tells that, and not first
    # one with a std::string in it, of which a file for a newer torch was more often the reason than the other
    # std::string, and that than a file for an older.
    if string_abi(missing.name) is None or missing.before_torch:
        return 0.66
    return 0.73 if newer else 0.68


def _stated_fix(torch: str) -> str:
    return (
        'python -c "import torch; print(torch.__version__, torch.__file__)"  # in the environment that fails\n'
        f"If it prints another version than {torch}: build the extension again with that one installed, or run it "
        f"where torch {torch} is. If it prints {torch}: another of these causes holds."
    )


def _of_gpu_library(missing: MissingName) -> bool:
    return bool(missing.libraries) and all(accelerator_of(library) in ("CUDA", "ROCm") for library in missing.libraries)


def _release_revision(missing: MissingName) -> str | None:
    """The git revision of the released builds of the target's version."""
    releases, target = missing.knowledge.releases, missing.target
    if releases is None or target is None:
        return None
    for build in releases.builds(missing.knowledge.machine):
        if build.torch == target.version and not build.user and build.git_revision:
            return build.git_revision
    return None


def _variant_fix(missing: MissingName) -> str:
    target = missing.target
    text = f"Build it against the torch that is there: {fixes.rebuild(missing)}"
    if target is not None and target.kind is not TorchKind.INSTALLED:
        text += (
            "\nCheck which torch is loaded: python -c 'import torch; print(torch.__version__, torch.__file__, "
            "torch.version.git_version)'"
        )
    return text
