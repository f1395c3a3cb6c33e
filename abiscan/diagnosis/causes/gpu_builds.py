"""cuda-build-required and rocm-naming: the symbol is in a GPU library that the target lacks, or has the spelling of the
other vendor."""

from __future__ import annotations

from abiscan.diagnosis.fixes.hip_sources import is_for_hip
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidates
from abiscan.diagnosis.release_position import Position
from abiscan.diagnosis.templates.code_causes import row_causes
from abiscan.mangling.canonical import to_cuda
from abiscan.ownership.torch_names import accelerator_of

# Prefixes that hipify writes in file names, and names of ROCm variants.
_ROCM_FILE = ("hip", "rocm", "aiter")


def causes(missing: MissingName) -> Candidates:
    """For torch symbols of a GPU library, by exporting library or namespace."""
    cuda, hip = _is_cuda(missing), _is_hip(missing)
    if missing.file.is_torch_itself:
        return
    if _is_xpu(missing):
        yield from _xpu_missing(missing)
    elif cuda or hip:
        yield from _gpu_missing(missing, hip)
        yield from _other_vendor(missing, hip)


def _is_xpu(missing: MissingName) -> bool:
    """The release index has no XPU builds: whether the namespace is of torch's library for XPUs, and no build exports
    the symbol."""
    return missing.cxx is not None and missing.is_torch_name and "xpu" in missing.cxx.scope and not missing.libraries


def _xpu_missing(missing: MissingName) -> Candidates:
    target = missing.target
    if target is None or not target.variant.startswith("xpu"):
        yield from row_causes("xpu-build-lacking", missing, score=0.86 if target is None else 0.95)


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
    if is_for_hip(missing) and not hip:
        return  # a file for CUDA, which no torch for that GPU loads
    if target is not None and target.variant != "cpu" and (target.cuda or target.hip or target.variant):
        return
    # The headers of a link are those of a build for CUDA; the variant is only that of the package index for the system.
    is_assumed = target is not None and missing.variant_is_assumed
    # A name in MSVC's decoration is of a link, in whatever words.
    of_link = is_assumed and (missing.reference.link_time or missing.reference.msvc)
    elsewhere = target is not None and missing.position in (Position.BEFORE, Position.AFTER, Position.NEVER)
    yield from row_causes(
        "gpu-build-lacking",
        missing,
        score=0.4 if target is None or of_link else 0.75 if is_assumed else 0.81 if elsewhere else 0.95,
        library=next(iter(missing.libraries), ""),
        vendor="ROCm" if hip else "CUDA",
        elsewhere=elsewhere,
        is_assumed=is_assumed,
    )


def _other_vendor(missing: MissingName, hip: bool) -> Candidates:
    target = missing.target
    on_rocm = target is not None and (target.hip is not None or target.variant.startswith("rocm"))
    if hip:
        neutral = missing.cxx.gpu_neutral if missing.cxx is not None else ""
        counterpart = next((form for form in missing.related if form.parsed.gpu_neutral == neutral), None)
        alike = counterpart or next(iter(missing.related), None)
        yield from row_causes(
            "symbol-of-hipify",
            missing,
            score=0.55 if target is None else 0.5 if on_rocm else 0.85,
            on_rocm=on_rocm,
            where="" if alike is None else alike.where,
            counterpart="" if counterpart is None else counterpart.parsed.qualified,
        )
        return
    of_rocm = any(word in missing.file.path.lower() for word in _ROCM_FILE)
    on_amd = on_rocm or is_for_hip(missing)
    if target is None or on_amd or of_rocm:
        of_file = 0.66 if of_rocm else 0.25
        yield from row_causes(
            "symbol-of-cuda-build",
            missing,
            score=0.88 if on_amd else of_file if target is None else 0.45,
            on_rocm=on_rocm,
            on_amd=on_amd and not on_rocm,
            of_rocm=of_rocm,
        )
