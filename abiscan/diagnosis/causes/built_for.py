"""built-for-newer-torch, built-for-older-torch, distribution-variant: what the history of the name says of the
target."""

from __future__ import annotations

import re

from abiscan.diagnosis import fixes
from abiscan.diagnosis.missing_name import Inquiry, Place
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.mangling import NameKind
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.target import TargetKind
from abiscan.model.versions import Windows
from abiscan.ownership.torch import accelerator_of

# How releases up to 1.13 and today's differ is not in the index; what a name of torch's namespaces is then, is a guess.
_GUESS = 0.45


def causes(inquiry: Inquiry) -> Candidates:
    """Every reading of the target's place among the windows."""
    if not inquiry.is_torch_name:
        return
    if inquiry.is_torch_itself:
        yield from _mixed(inquiry)
        return
    match inquiry.place:
        case Place.BEFORE:
            yield from _newer(inquiry)
        case Place.AFTER:
            yield from _older(inquiry)
        case Place.HOLE:
            yield from _hole(inquiry)
        case Place.NEVER:
            yield from _never(inquiry)
        case Place.UNKNOWN:
            yield from _unknown(inquiry)
        case Place.INSIDE:
            pass
    yield from _variant(inquiry)


def _mixed(inquiry: Inquiry) -> Candidates:
    """A library of torch that misses a name of torch: its libraries are always built together."""
    evidence = [
        f"{inquiry.base_name} is a library of torch and misses {inquiry.shown}, a name of torch: libraries of "
        f"two torches are mixed in the process.",
        inquiry.exported_text,
    ]
    environment = inquiry.environment
    if environment is not None and len(environment.torches) > 1:
        evidence.append("More than one torch is installed: " + ", ".join(environment.torches) + ".")
    fix = (
        "unset LD_LIBRARY_PATH; pip uninstall -y torch; pip uninstall -y torch  # until none is left, then "
        "install one\n"
        f"ldd {fixes.word(inquiry.base_name, 'FILE')} | grep -E 'libtorch|libc10'  # shows where another copy is found"
    )
    yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.8, tuple(evidence), fix)
    hidden = (
        f"{inquiry.base_name} misses {inquiry.shown}, a name of torch.",
        "In a torch built from source, the library that defines it may not export it (no TORCH_API at its "
        "declaration).",
    )
    yield Candidate(
        CauseId.SYMBOL_HIDDEN,
        0.5,
        hidden,
        "Build torch again from a clean tree (python setup.py clean), or install a release.",
    )


def _newer(inquiry: Inquiry) -> Candidates:
    assert inquiry.windows
    assert inquiry.target is not None
    first = inquiry.windows[0][0]
    evidence = [f"{inquiry.target_label} is older than {first}, the first release that exports {inquiry.shown}."]
    score = 0.82
    if inquiry.before_index and first == inquiry.known_versions[0]:
        score = 0.58
        evidence = [
            inquiry.exported_text,
            f"{inquiry.target_label} is older than the index, which begins with {first}: that it exports it is open.",
        ]
    else:
        score = 0.85 if inquiry.before_index else 0.82
        evidence.append(inquiry.exported_text)
    if _like_a_gap(inquiry):
        score -= 0.05
    yield Candidate(
        CauseId.BUILT_FOR_NEWER_TORCH, score, tuple(evidence), fixes.rebuild_or_install(inquiry, inquiry.windows)
    )


def _older(inquiry: Inquiry) -> Candidates:
    assert inquiry.windows
    assert inquiry.target is not None
    last = inquiry.windows[-1][1]
    evidence = [
        f"{inquiry.target_label} is newer than {last}, the last release that exports {inquiry.shown}.",
        inquiry.exported_text,
    ]
    yield Candidate(
        CauseId.BUILT_FOR_OLDER_TORCH, 0.82, tuple(evidence), fixes.rebuild_or_install(inquiry, inquiry.windows)
    )


def _hole(inquiry: Inquiry) -> Candidates:
    assert inquiry.windows
    assert inquiry.target is not None
    target = inquiry.target.torch
    before, after = inquiry.windows.last_before(target), inquiry.windows.first_after(target)
    evidence = (
        inquiry.exported_text,
        f"{inquiry.target_label} lies in the gap: the name went after {before} and came back in {after}.",
    )
    fix = fixes.rebuild_or_install(inquiry, inquiry.windows)
    # The name of the file says which CPython it is for, and each torch supports only some.
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.66, evidence, fix)
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.64, evidence, fix)


def _never(inquiry: Inquiry) -> Candidates:
    """A name of torch that no known build exports: from before the index, from a later torch, or of another
    compiler."""
    evidence = [inquiry.exported_text]
    first, last = inquiry.known_versions[0], inquiry.known_versions[-1]
    same = [kin for kin in inquiry.kin if kin.same_function]
    older, newer = _GUESS + 0.15, _GUESS - 0.1
    if inquiry.kin:
        names = ", ".join(dict.fromkeys(kin.where for kin in inquiry.kin[:2]))
        evidence.append(f"{inquiry.kin[0].parsed.qualified} itself is exported with other parameters by torch {names}.")
    else:
        evidence.append(
            f"Nothing of this name is exported by any of them: it was removed or became inline before "
            f"{first}, or came after {last}."
        )
    if inquiry.before_index:
        older, newer = _GUESS + 0.1, _GUESS + 0.03
        evidence.append(
            f"{inquiry.target_label} is older than the index, so the file may be for a torch on either side of it."
        )
    elif inquiry.after_index:
        older, newer = _GUESS, _GUESS + 0.1
    if same:
        older, newer = older - 0.25, newer - 0.2
    if inquiry.macho and not inquiry.kin:
        evidence.append("The index holds Linux builds; a function of macOS alone is not in it.")
        older -= 0.05
    fix = fixes.rebuild(inquiry)
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, older, tuple(evidence), fix)
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, newer, tuple(evidence), fix)


def _unknown(inquiry: Inquiry) -> Candidates:
    """No target: the windows still say what the file was made for, and the version would decide."""
    decide = "Which torch is installed would decide (`--torch`)."
    fix = fixes.rebuild_or_install(inquiry, inquiry.windows or Windows())
    if inquiry.windows is None:
        yield Candidate(
            CauseId.BUILT_FOR_NEWER_TORCH,
            0.4,
            (
                f"{inquiry.shown} is a name of torch.",
                "Without the index or the torch that is installed, which one has it is open.",
                decide,
            ),
            fix,
        )
        return
    evidence = (inquiry.exported_text, decide)
    if inquiry.target is not None:
        # Newer than the index, or no version at all.
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, _GUESS, (inquiry.exported_text,), fix)
        return
    if not inquiry.windows:
        yield from _never(inquiry)
        return
    first, last = inquiry.known_versions[0], inquiry.known_versions[-1]
    if inquiry.windows[-1][1] != last:
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.6, evidence, fix)
    elif len(inquiry.windows) > 1:
        # Between the windows: the file is for either side of the gap.
        yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.55, evidence, fix)
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.54, evidence, fix)
        return
    if inquiry.windows[0][0] != first:
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.58, evidence, fix)
    else:
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.42, evidence, fix)


# Local version labels and pre-releases of builds that are not the package index's own: NVIDIA's containers
# (`2.2.0a0+81ea7a4`,
# `+nv24.1`), source builds (`+git1234567`), nightlies.
_OTHER_BUILD = re.compile(r"\d(?:a|b|rc)\d|dev\d|nv\d|git[0-9a-f]{6,}")


def _variant(inquiry: Inquiry) -> Candidates:
    """The version's own release exports the name, or nobody can compare this build with a release: another build of
    it."""
    target = inquiry.target
    if target is None:
        if inquiry.windows:
            yield Candidate(
                CauseId.DISTRIBUTION_VARIANT,
                0.3,
                (
                    inquiry.exported_text,
                    "A build from NGC, conda or source may differ from the release of the same version.",
                ),
                fixes.rebuild(inquiry),
            )
        return
    if target.variant == "cpu" and _of_gpu_library(inquiry):
        # gpu_builds says why: no CPU build has it.
        return
    evidence = []
    score = 0.0
    odd = not versions.is_release(target.torch) or bool(_OTHER_BUILD.search(f"{target.torch}+{target.variant}"))
    if inquiry.place is Place.INSIDE and inquiry.target_library is None:
        score = 0.72
        evidence.append(inquiry.exported_text)
        evidence.append(
            f"{inquiry.target_label} has that version and does not export it: it is another build (source, "
            f"conda, NGC, another variant)."
        )
    elif inquiry.place is Place.INSIDE and not inquiry.knowledge.exact:
        score = 0.5
        evidence.append(
            f"The release of version {target.torch} exports {inquiry.shown}, so the torch that was loaded is "
            f"another build or version."
        )
    elif odd and inquiry.place is not Place.INSIDE:
        score = 0.45 if inquiry.before_index else 0.6
        evidence.append(
            f"{target.torch} is no release: a snapshot from between two of them, whose exports are those of neither."
        )
        evidence.append(inquiry.exported_text)
    if odd and score:
        score = min(score + 0.06, 0.79)
    if not score:
        return
    release = _release_revision(inquiry)
    if target.git_revision and release:
        if release == target.git_revision:
            score -= 0.2
            evidence.append(f"Against it: its git revision {release[:10]} is that of the release.")
        else:
            score = min(score + 0.12, 0.9)
            evidence.append(f"Its git revision {target.git_revision[:10]} is not that of the release ({release[:10]}).")
    if inquiry.environment is not None and len(inquiry.environment.torches) > 1:
        score = min(score + 0.08, 0.9)
        evidence.append("More than one torch is installed: " + ", ".join(inquiry.environment.torches) + ".")
    if inquiry.name_kind is NameKind.C:
        score -= 0.1
    yield Candidate(CauseId.DISTRIBUTION_VARIANT, score, tuple(evidence), _variant_fix(inquiry))


def _of_gpu_library(inquiry: Inquiry) -> bool:
    return bool(inquiry.libraries) and all(accelerator_of(library) in ("CUDA", "ROCm") for library in inquiry.libraries)


def _release_revision(inquiry: Inquiry) -> str | None:
    """The git revision of the released builds of the target's version."""
    releases, target = inquiry.knowledge.releases, inquiry.target
    if releases is None or target is None:
        return None
    for build in releases.builds(inquiry.knowledge.machine):
        if build.torch == target.torch and not build.user and build.git_revision:
            return build.git_revision
    return None


def _variant_fix(inquiry: Inquiry) -> str:
    target = inquiry.target
    text = f"Build it against the torch that is there: {fixes.rebuild(inquiry)}"
    if target is not None and target.kind is not TargetKind.INSTALLED:
        text += (
            "\nCheck which torch is loaded: python -c 'import torch; print(torch.__version__, torch.__file__, "
            "torch.version.git_version)'"
        )
    return text


def _like_a_gap(inquiry: Inquiry) -> bool:
    """Whether the target exports the same function otherwise, so that `signature-changed` says more."""
    return any(kin.in_target for kin in inquiry.kin)
