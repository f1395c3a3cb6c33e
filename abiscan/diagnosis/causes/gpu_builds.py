"""cuda-build-required and rocm-naming: the symbol is in a GPU library that the target lacks, or has the spelling of the
other vendor."""

from __future__ import annotations

from functools import partial

from abiscan.diagnosis.fixes import extension_fixes, torch_fixes
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.diagnosis.release_position import Position
from abiscan.mangling.canonical import to_cuda
from abiscan.model.cause import CauseId
from abiscan.ownership.torch_names import accelerator_of

# Prefixes that hipify writes in file names, and names of ROCm variants.
_ROCM_FILE = ("hip", "rocm", "aiter")


def causes(missing: MissingName) -> Candidates:
    """For torch symbols of a GPU library, by exporting library or namespace."""
    cuda, hip = _is_cuda(missing), _is_hip(missing)
    if not (cuda or hip) or missing.file.is_torch_itself:
        return
    yield from _gpu_missing(missing, hip)
    yield from _other_vendor(missing, hip)


def _is_cuda(missing: MissingName) -> bool:
    if missing.newest_libraries:
        return all(accelerator_of(library) == "CUDA" for library in missing.newest_libraries)
    return missing.cxx is not None and missing.is_torch_name and "cuda" in missing.cxx.scope


def _is_hip(missing: MissingName) -> bool:
    if any(accelerator_of(library) == "ROCm" for library in missing.libraries):
        return True
    if missing.cxx is None or not missing.is_torch_name:
        return False
    return "hip" in missing.cxx.scope or to_cuda(missing.cxx.canonical) != missing.cxx.canonical


def _gpu_missing(missing: MissingName, hip: bool) -> Candidates:
    target = missing.target
    vendor = "ROCm" if hip else "CUDA"
    if missing.libraries:
        evidence = [
            f"{missing.shown} is exported by {missing.libraries[0]}, which only {vendor} builds of torch contain."
        ]
    else:
        evidence = [f"{missing.shown} is named like the symbols of torch's {vendor} builds."]
    if target is None:
        evidence.append(
            "Check whether the installed torch is a CPU build: `python -c 'import torch; print(torch.version.cuda)'`."
        )
        score = 0.4
    elif target.variant == "cpu" or (target.cuda is None and target.hip is None and not target.variant):
        evidence.append(f"{missing.target_label} is a CPU build.")
        score = 0.95
        if missing.position in (Position.BEFORE, Position.AFTER, Position.NEVER):
            score = 0.81
            evidence.append(missing.exported_text)
    else:
        return
    yield Candidate(CauseId.CUDA_BUILD_REQUIRED, score, tuple(evidence), partial(_install, missing, hip))


def _install(missing: MissingName, hip: bool) -> str:
    if not hip:
        return torch_fixes.gpu_build(missing)
    version = f"=={missing.target.version}" if missing.target is not None else ""
    return (
        f"Install a ROCm build of torch{version}: add the wheel index of its variant, "
        "rocm6.2 (or the ROCm on this machine), to pip install.\n"
        "or install the CPU wheel of the extension."
    )


def _other_vendor(missing: MissingName, hip: bool) -> Candidates:
    target = missing.target
    rocm_target = None if target is None else target.hip is not None or target.variant.startswith("rocm")
    rocm_file = any(word in missing.file.path.lower() for word in _ROCM_FILE)
    if hip:
        evidence = [f"{missing.shown} is a symbol that hipify generates for ROCm builds."]
        if rocm_target is False:
            evidence.append(
                f"{missing.target_label} is not a ROCm build; CUDA builds call the same API c10::cuda and at::cuda."
            )
            score = 0.85
        else:
            score = 0.5 if rocm_target else 0.55
            evidence.append("ROCm builds up to 2.10 export c10::hip; later ones also or only export c10::cuda.")
        neutral = missing.cxx.gpu_neutral if missing.cxx is not None else ""
        counterpart = next((form for form in missing.related if form.parsed.gpu_neutral == neutral), None)
        if counterpart is not None:
            where, name = counterpart.where, counterpart.parsed.qualified
            evidence.append(f"Its CUDA counterpart is exported by torch {where}: {name}.")
        elif missing.related:
            evidence.append(f"The CUDA function has other parameters in torch {missing.related[0].where}.")
    else:
        evidence = [f"{missing.shown} is a symbol of CUDA builds."]
        if rocm_target:
            evidence.append(f"{missing.target_label} is a ROCm build: most ROCm builds export c10::hip instead.")
            score = 0.88
        elif rocm_target is None and rocm_file:
            evidence.append("The file name marks it as a ROCm build.")
            score = 0.66
        elif rocm_target is None:
            score = 0.25
        elif rocm_file:
            score = 0.45
        else:
            return
    fix = (
        "Build it with hipify: torch.utils.cpp_extension.CUDAExtension runs hipify on "
        "the sources; in CMake, hipify_torch.\n"
        f"Then rebuild it with the installed torch: {extension_fixes.rebuild(missing)}"
    )
    yield Candidate(CauseId.ROCM_NAMING, score, tuple(evidence), fix)
