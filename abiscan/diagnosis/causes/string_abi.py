"""cxx11-abi-mismatch: the same function is exported with the other std::string.

libstdc++ has two std::string classes; `_GLIBCXX_USE_CXX11_ABI` chooses when a file is compiled
(https://gcc.gnu.org/onlinedocs/libstdc++/manual/using_dual_abi.html).
"""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.missing_name import Inquiry, Kin, Place
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.mangling import DifferenceKind, string_abi
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.ownership import torch

_WORDS = {"old": "the old std::string", "new": "the new std::string (std::__cxx11)"}


def causes(inquiry: Inquiry) -> Candidates:
    """A twin of the name in the other ABI, in the target or in some release."""
    if inquiry.cxx is None:
        return
    twins = [kin for kin in inquiry.kin if kin.same_function and _flips(inquiry, kin)]
    mine = _abi_of(inquiry, twins)
    if mine is None:
        return
    if not twins:
        yield from _without_twin(inquiry, mine)
        return
    other = "old" if mine == "new" else "new"
    here = [kin for kin in twins if kin.in_target]
    twin = (here or twins)[0]
    where = inquiry.target_label if here else f"torch {twin.where}"
    evidence = [
        f"The file wants {inquiry.shown} with {_WORDS[mine]}; {where} exports it with {_WORDS[other]}.",
        f"That name is {twin.name}.",
    ]
    score = 0.95
    if not here:
        score = 0.75
        if inquiry.before_index and _older_twin(inquiry, twin):
            score = 0.88
            evidence.append(
                f"{inquiry.target_label} is older than the index: all known releases up to "
                f"{twin.windows[-1][1]} have that form, so it has it too."
            )
        elif inquiry.target is not None and twin.in_target is False:
            score = 0.55
            evidence.append(f"{inquiry.target_label} exports neither of the two.")
        elif inquiry.target is None and not inquiry.windows:
            evidence.append("No known build exports the spelling that the file wants.")
    abi = None if inquiry.target is None else inquiry.target.cxx11_abi
    if abi is not None:
        agrees = abi == (mine == "new")
        if agrees:
            score = min(score, 0.3)
            evidence.append(f"Against it: {inquiry.target_label} is itself built with {_WORDS[mine]}.")
        else:
            score = 0.93 if not inquiry.knowledge.exact else score
            evidence.append(
                f"{inquiry.target_label} is built with {_WORDS[other]}: it exports no name with the other one."
            )
    elif inquiry.target is not None and inquiry.place is Place.INSIDE:
        score = min(score, 0.7)
        evidence.append(f"Releases of version {inquiry.target.torch} export the wanted spelling; this build need not.")
    yield Candidate(CauseId.CXX11_ABI_MISMATCH, score, tuple(evidence), _fix(inquiry, mine))


def _flips(inquiry: Inquiry, kin: Kin) -> bool:
    """Whether this kin is the name in the other ABI, rather than another spelling in the same one."""
    if DifferenceKind.STRING_ABI in kin.kinds:
        return True
    # A function that returns a string carries its ABI in a tag alone. The tag proves nothing by itself, only that no
    # build exports both: each has one std::string.
    if DifferenceKind.ABI_TAG not in kin.kinds:
        return False
    mine = set() if inquiry.history is None else {build.key for build in inquiry.history.exported_in}
    releases = inquiry.knowledge.releases
    theirs = None if releases is None else releases.history(kin.name, inquiry.knowledge.machine)
    return theirs is None or mine.isdisjoint(build.key for build in theirs.exported_in)


def _older_twin(inquiry: Inquiry, twin: Kin) -> bool:
    """Whether the twin is exported from the first known release on, and the name itself only later."""
    first = inquiry.known_versions[0]
    mine = inquiry.windows or ()
    return bool(twin.windows) and twin.windows[0][0] == first and not (mine and mine[0][0] == first)


def _abi_of(inquiry: Inquiry, twins: list[Kin]) -> str | None:
    """Which string the name is made with: by its types, or by the tag that tells it from its twin."""
    assert inquiry.cxx is not None
    abi = string_abi(inquiry.name)
    if abi is not None:
        return abi
    if twins:
        return "new" if inquiry.cxx.has_cxx11_tag else "old"
    return None


def _without_twin(inquiry: Inquiry, mine: str) -> Candidates:
    """A name with a std::string in it whose other spelling is nowhere: of another library, or of a torch before the
    index."""
    assert inquiry.cxx is not None
    evidence = [f"{inquiry.shown} is made with {_WORDS[mine]}."]
    abi = None if inquiry.target is None else inquiry.target.cxx11_abi
    if inquiry.is_torch_name:
        if abi is None or abi == (mine == "new"):
            return
        score = 0.78
        evidence.append(
            f"{inquiry.target_label} is built with the other one: it exports no such name, whatever its release."
        )
        evidence.append("No known release exports the function with the other std::string either.")
    elif inquiry.namespace == "std" or inquiry.is_torch_itself:
        return
    else:
        # Distributions compile with the new string since GCC 5; the old one comes from a flag, most often torch's.
        torch_types = any(f"{scope}::" in inquiry.cxx.signature for scope in torch.NAMESPACES)
        if torch_types:
            return
        score = 0.6 if mine == "old" else 0.35
        evidence.append(
            f"Its library is none of torch's; one that was compiled with {_WORDS['new' if mine == 'old' else 'old']} "
            "exports the other spelling only."
        )
        if mine == "old":
            evidence.append(
                "Torch up to 2.6.0 from the package index passes -D_GLIBCXX_USE_CXX11_ABI=0 to what is built with it."
            )
    yield Candidate(CauseId.CXX11_ABI_MISMATCH, score, tuple(evidence), _fix(inquiry, mine))


def _fix(inquiry: Inquiry, mine: str) -> str:
    flag = "-D_GLIBCXX_USE_CXX11_ABI=" + ("0" if mine == "new" else "1")
    if not inquiry.is_torch_name:
        return f"Compile both sides alike: rebuild the caller with {flag}, or that library with the other value."
    wheel = "cxx11abiFALSE" if mine == "new" else "cxx11abiTRUE"
    text = f"{fixes.rebuild(inquiry)}\nor, in a build of your own: {flag}"
    if inquiry.target is not None:
        text += f"\nor pick the wheel made for torch {versions.minor(inquiry.target.torch)} that is named {wheel}"
    else:
        text += f"\nor pick the wheel that is named {wheel}"
    return text
