"""Messages that name two releases themselves: of CUDA (cuda-library-mismatch), of torch (built-for-...-torch)."""

from __future__ import annotations

from abiscan.diagnosis import fixes
from abiscan.diagnosis.messages.mention import Complaint, Mention
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model import versions
from abiscan.model.cause import CauseId


def torch_releases(mention: Mention) -> Candidates:
    """`xFormers was built for: PyTorch 2.0.1+cu118 with CUDA 1108 (you have 2.1.0+cu121)`"""
    if len(mention.releases) == 1:
        yield from _other_torch(mention)
        return
    built, here = mention.releases
    extension = mention.needed_by or "the extension"
    (built_version, _, built_label), (version, _, label) = built.partition("+"), here.partition("+")
    evidence = (f"The message says it itself: {extension} was built for torch {built}, and torch {here} is there.",)
    package = fixes.word((mention.needed_by or "").lower().replace("_", "-"), "PACKAGE")
    fix = (
        f"Install the build of {extension} for this torch: pip install --upgrade --force-reinstall --no-deps {package}"
        f"\nor the torch that it was built for: pip install torch=={fixes.word(built_version, 'VERSION')}"
    )
    at, wanted = versions.order(version), versions.order(built_version)
    differ = at is not None and wanted is not None and at != wanted
    if label == "cpu" and built_label != "cpu":
        yield Candidate(
            CauseId.CUDA_BUILD_REQUIRED,
            0.92,
            (*evidence, f"torch {here} is a CPU build."),
            "Install a CUDA build of torch (the wheel index of its variant, such as cu126).\n" + fix,
        )
    if differ and at is not None and wanted is not None:
        older = wanted < at
        cause = CauseId.BUILT_FOR_OLDER_TORCH if older else CauseId.BUILT_FOR_NEWER_TORCH
        yield Candidate(cause, 0.85 if label == "cpu" else 0.95, evidence, fix)
    elif label != "cpu" and (built_label or mention.context):
        yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.85, evidence, fix)
    elif label != "cpu":
        text = "The releases agree: what differs is the build, of which CUDA or of none."
        yield Candidate(CauseId.CUDA_BUILD_REQUIRED, 0.7, (*evidence, text), fix)
        yield Candidate(CauseId.DISTRIBUTION_VARIANT, 0.65, (*evidence, text), fix)


def _other_torch(mention: Mention) -> Candidates:
    """`incompatible torch version 2.7.1+cu128 for torchao version 0.15.0`: it does not say for which it is."""
    name = mention.needed_by or "the extension"
    evidence = (f"The message says it itself: this release of {name} is not for torch {mention.releases[0]}.",)
    shown = fixes.word(name, "PACKAGE")
    fix = f"pip install -U torch {shown}  # both at once; the release notes of {shown} say which belong together"
    newer = f"Most often {name} was installed later, for a newer torch."
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.75, (*evidence, newer), fix)
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.65, (*evidence, "Or torch was upgraded alone."), fix)


def cuda_releases(mention: Mention, missing: MissingName) -> Candidates:
    """Two CUDA releases in one message: torch's and the extension's, or torch's and the toolkit's."""
    building = mention.complaint is Complaint.CUDA_OF_TOOLKIT
    numbers = mention.releases
    named = mention.needed_by or "the extension"
    if len(numbers) < 2:
        evidence = [f"torch and {named} were built with different CUDA releases, as the message says."]
        decide = "python -c 'import torch; print(torch.version.cuda)' and nvcc --version tell which."
        evidence.append(decide)
    elif building:
        evidence = [f"The toolkit that was found is CUDA {numbers[0]}, torch was built with {numbers[1]}."]
    else:
        evidence = [f"torch has CUDA {numbers[0]}, {named} was built for {numbers[1]}."]
    if building:
        wanted = numbers[-1] if len(numbers) == 2 else "X.Y"
        variant = f"cu{numbers[0].replace('.', '')}" if len(numbers) == 2 else "cuXY"
        fix = (
            f"Build with the toolkit of torch's CUDA: export CUDA_HOME=/usr/local/cuda-{wanted}\n"
            f"or install the torch of this toolkit's variant ({variant})."
        )
        yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.9, tuple(evidence), fix)
        return
    source = fixes.rebuild(missing, project=mention.needed_by)
    if numbers[1:] == ("0.0",):
        without = (*evidence, f"There is no CUDA 0.0: {named} was compiled without CUDA.")
        yield Candidate(
            CauseId.CUDA_BUILD_REQUIRED,
            0.92,
            without,
            f"Install the extension's wheel for CUDA {numbers[0]}, or build it where nvcc of that CUDA is:\n{source}",
        )
    of_torch = f" for CUDA {numbers[0]} (torch's)" if numbers else " for torch's CUDA"
    fix = f"Install the extension's wheel{of_torch}, or build it from source against this torch:\n{source}"
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.9, tuple(evidence), fix)
    if missing.target is not None:
        yield Candidate(
            CauseId.DISTRIBUTION_VARIANT,
            0.6,
            (*evidence, f"{missing.target_label} is another variant than the one that the extension was built for."),
            fix,
        )


def cudnn_releases(mention: Mention) -> Candidates:
    """torch compares the cuDNN that it was compiled against with the one that is loaded."""
    if len(mention.releases) < 2:
        text = (
            "The message says it itself: libraries of two releases of cuDNN are loaded, each of its "
            "parts must be of one."
        )
        fix = (
            "unset LD_LIBRARY_PATH; pip list | grep -i cudnn; find / -name 'libcudnn*.so*' "
            "2>/dev/null  # which there are\n"
            "or: pip install --force-reinstall torch  # brings the cuDNN that it was compiled against"
        )
        yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.9, (text,), fix)
        return
    built, here = mention.releases
    evidence = (f"The message says it itself: torch was compiled against cuDNN {built}, and cuDNN {here} is loaded.",)
    fix = (
        "unset LD_LIBRARY_PATH  # torch then finds the cuDNN of its own wheel first\n"
        "pip list | grep -i cudnn  # another package may have installed another release\n"
        "or: pip install --force-reinstall torch  # brings the cuDNN that it was compiled against"
    )
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.95, evidence, fix)
