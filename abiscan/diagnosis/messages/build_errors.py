"""A source that does not compile with the headers of the torch, or the toolkit, that is there."""

from __future__ import annotations

from abiscan.diagnosis.cuda_releases import releases_of
from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model import versions
from abiscan.model.cause import CauseId
from abiscan.model.versions import ReleaseRanges
from abiscan.ownership import torch_headers
from abiscan.ownership.vendors import vendor_of_library


def _of_other_toolkit(mention: Mention, missing: MissingName) -> Candidates:
    """`identifier "cusparseScsrmv" is undefined`"""
    vendor = vendor_of_library(f"lib{mention.library}.so")
    assert vendor is not None
    evidence = [f"The headers of the CUDA toolkit that is there declare no {mention.text}, of {vendor.product}."]
    if mention.context == "texture":
        evidence = [
            "Texture references, as texture<...>, are gone from CUDA's headers with CUDA 12: the source uses them."
        ]
    releases = releases_of(missing, vendor)
    if releases is not None:
        evidence.append(releases.evidence)
    fix = (
        "nvcc --version; python -c 'import torch; print(torch.version.cuda)'  # the toolkit should be of torch's CUDA\n"
        "Build with a toolkit of the release for which the source was written, or a newer release of the project."
    )
    yield Candidate(CauseId.CUDA_LIBRARY_MISMATCH, 0.82, tuple(evidence), fix)


_IN_PLACE = {"AT_CHECK": "TORCH_CHECK", "AT_WARN": "TORCH_WARN"}


def undeclared(mention: Mention, missing: MissingName) -> Candidates:
    """`'AT_CHECK' was not declared`, `THC/THC.h: No such file`"""
    name = mention.text
    if mention.library is not None:
        yield from _of_other_toolkit(mention, missing)
        return
    instead = _IN_PLACE.get(name)
    first = f"The source was written for an older torch: today's headers have no {name}."
    if instead is None:
        evidence = (first, "It is of TH or THC, the C libraries of torch up to 1.10.")
        fix = "abiscan rules thc-api  # what is written in place of each"
    else:
        evidence = (first, f"{instead} has taken its place.")
        fix = f"abiscan fix DIRECTORY  # writes {instead} in place of {name}"
    newer = f"{fix}\nor build a newer release of the project, which is made for this torch."
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.9, evidence, newer)


_WRITTEN_FOR = (
    "Build the release of the project that was made for this torch (python -c 'import torch; "
    "print(torch.__version__)')\n"
    "or install the torch that its setup.py or its README names."
)
# Headers that every torch has: where one is not found, the folder is.
_SINCE_1_0 = {"<torch/extension.h>": "1.0", "<torch/script.h>": "1.0"}
_ALWAYS_THERE = frozenset(
    (
        "<torch/extension.h>",
        "<torch/torch.h>",
        "<torch/script.h>",
        "<torch/all.h>",
        "<ATen/ATen.h>",
        "<c10/util/Exception.h>",
    )
)


def no_header(mention: Mention, missing: MissingName) -> Candidates:
    """`fatal error: ATen/CUDAGeneratorImpl.h: No such file or directory`; also a header of CUDA's"""
    name = mention.text
    folder = (
        f"The compiler found no {name}.",
        "torch's headers are in torch/include of the environment that has torch; a build that is "
        "isolated from it, or has "
        "no torch, does not see them.",
    )
    include = "python -c 'from torch.utils.cpp_extension import include_paths; print(include_paths())'"
    fix = f"{include}  # what -I must name\npip install --no-build-isolation .  # uses the torch that is installed"
    if name in _ALWAYS_THERE:
        since = _SINCE_1_0.get(name)
        target = missing.target
        at = None if target is None else versions.order(target.version)
        if since is None:
            yield Candidate(CauseId.LIBRARY_MISSING, 0.85, (*folder, "Every release of torch has this header."), fix)
            return
        older = at is not None and at < (1, 0)
        came = f"{name} came with torch 1.0: " + (
            f"{missing.target_label} is older." if older and missing.target is not None else "an older torch has none."
        )
        yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, 0.9 if older else 0.4, (folder[0], came), _WRITTEN_FOR)
        yield Candidate(CauseId.LIBRARY_MISSING, 0.5 if older else 0.85, folder, fix)
        return
    text = f"The compiler found no {name}: headers of torch come, move and go with its releases."
    there = torch_headers.has_header(name[1:-1])
    before, since_then = 0.66, 0.6
    if there is not None:
        text = f"{text} torch {torch_headers.version_read()} has {'it' if there else 'no such header'}."
        before, since_then = (0.4, 0.7) if there else (0.8, 0.45)
    why = "Most often the source was then written for {} torch than the one that is there."
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, before, (text, why.format("an older")), _WRITTEN_FOR)
    yield Candidate(CauseId.BUILT_FOR_NEWER_TORCH, since_then, (text, why.format("a newer")), _WRITTEN_FOR)
    yield Candidate(CauseId.LIBRARY_MISSING, 0.62 if there else 0.5, folder, fix)


def half_operation(mention: Mention) -> Candidates:
    """`no suitable conversion function from "__half" to "int" exists`

    `torch.utils.cpp_extension` compiles device code with macros that take operators and conversions out of cuda_fp16.h
    (COMMON_NVCC_FLAGS, COMMON_HIPCC_FLAGS there; CUDA Math API, "Half Precision Intrinsics").
    """
    kind = mention.text
    if mention.context == "is undefined":
        yield _unknown_half(mention)
        return
    if kind.startswith("c10::"):
        yield _of_torchs_half(mention)
        return
    bfloat = "bfloat16" in kind
    where = mention.location
    hip = "hip" in kind or (where is not None and (where.file or "").endswith(".hip"))
    macros = ["BFLOAT16_CONVERSIONS"] if bfloat else ["HALF_OPERATORS", "HALF_CONVERSIONS"]
    if kind.endswith("half2"):
        macros = ["HALF2_OPERATORS", *macros]
    evidence = [
        f"{kind} has no such operator or conversion here: torch.utils.cpp_extension compiles with "
        f"-D__{'HIP' if hip else 'CUDA'}_NO_{macros[0]}__ and its kin, which take them out of the header.",
        "Without these macros CUDA's headers have them, for half from compute capability 5.3 on, bfloat16 from 8.0.",
    ]
    in_float = (
        f"at that place, in float: __{'bfloat162float' if bfloat else 'half2float'}(x), "
        f"__{'float2bfloat16' if bfloat else 'float2half'}(y)"
    )
    if hip and bfloat:
        # No macro takes anything from HIP's bfloat16: what it has differs between releases of ROCm.
        evidence = [f"{kind} has no such operator or conversion in the headers of the ROCm that is there."]
    if where is not None and where.file is not None:
        evidence.append(f"The operation is in {where.file}, line {where.line}.")
    if hip and bfloat:
        yield Candidate(CauseId.HALF_INTRINSIC, 0.8, tuple(evidence), f"Write it, {in_float}")
        return
    flags = ", ".join(f'"-U__{"HIP" if hip else "CUDA"}_NO_{macro}__"' for macro in macros)
    fix = f'extra_compile_args={{"nvcc": [{flags}]}}  # of CUDAExtension in setup.py: puts them back\nor, {in_float}'
    yield Candidate(CauseId.HALF_INTRINSIC, 0.85, tuple(evidence), fix)


def _unknown_half(mention: Mention) -> Candidate:
    """`identifier "__hadd2" is undefined`"""
    header = "cuda_bf16.h" if "bf" in mention.text else "cuda_fp16.h"
    evidence = (
        f"{mention.text} is of <{header}>: the source does not include it, or the toolkit's release does not have it, "
        "or not for the GPUs that the code is compiled for.",
    )
    fix = (
        f"#include <{header}>\n"
        'and compile for GPUs that have such arithmetic: TORCH_CUDA_ARCH_LIST="7.0;8.0" (half from 5.3 on, bfloat16 '
        "from 8.0 on)\nnvcc --version  # cuda_bf16.h came with CUDA 11"
    )
    return Candidate(CauseId.HALF_INTRINSIC, 0.7, evidence, fix)


def _of_torchs_half(mention: Mention) -> Candidate:
    """`more than one operator "<" matches these operands`, of c10::Half"""
    evidence = (
        f"{mention.text} becomes a float as well as CUDA's own 16-bit type, so that operators of both match.",
        "torch.utils.cpp_extension gives nvcc -D__CUDA_NO_HALF_OPERATORS__ and its kin, which leave one of them: this "
        "build does not, or takes them back.",
    )
    flags = " ".join(f"-D__CUDA_NO_{macro}__" for macro in ("HALF_OPERATORS", "HALF_CONVERSIONS", "HALF2_OPERATORS"))
    fix = f"Give nvcc {flags}\nor write static_cast<float>(x) on both sides"
    return Candidate(CauseId.HALF_INTRINSIC, 0.7, evidence, fix)


def no_member(mention: Mention, missing: MissingName) -> Candidates:
    """`'class at::Tensor' has no member named 'const_data_ptr'`: the source names what another torch has."""
    name = mention.text
    windows = _released(name, missing) if "::" in name else missing.windows
    known = missing.known_versions
    text = f"None of the headers that the source includes declares {name}."
    if mention.context:
        text = f"None of the headers that the source includes declares a {name} that takes what it is given."
    base = name.rpartition("::")[2]
    if name.startswith("at::cuda::") and _is_exported(f"c10::cuda::{base}", missing):
        brought = f"{text} c10::cuda has {base}, and <ATen/cuda/CUDAContext.h> brings it into at::cuda."
        included = "In older releases other headers of torch included that one."
        yield Candidate(
            CauseId.BUILT_FOR_OLDER_TORCH,
            0.6,
            (brought, included),
            "#include <ATen/cuda/CUDAContext.h>",
        )
        return
    # Macros AT_ gave way to those of TORCH_ and C10_.
    older, newer = (
        (0.6, 0.62) if name.startswith(("TORCH_", "C10_", "torch::Packed", "torch::GenericPacked")) else (0.62, 0.6)
    )
    if windows:
        text = f"{text} Functions of that name are exported by torch {windows.text()}."
        if windows[-1][1] == known[-1]:
            older, newer = 0.5, 0.8
        elif windows[0][0] == known[0]:
            older, newer = 0.8, 0.4
    yield Candidate(
        CauseId.BUILT_FOR_OLDER_TORCH,
        older,
        (text, "Perhaps it was written for an older torch, which had it."),
        _WRITTEN_FOR,
    )
    yield Candidate(
        CauseId.BUILT_FOR_NEWER_TORCH,
        newer,
        (text, "Perhaps it was written for a newer torch, which has it."),
        _WRITTEN_FOR,
    )


def _is_exported(name: str, missing: MissingName) -> bool:
    windows = _released(name, missing)
    return bool(windows) and windows is not None and windows[-1][1] == missing.known_versions[-1]


def _released(name: str, missing: MissingName) -> ReleaseRanges | None:
    """The releases that export any function of a qualified name; None where none is known."""
    releases = missing.knowledge.releases
    if releases is None or "::" not in name:
        return None
    parts = name.split("::")
    scopes = [parts[:-1]]
    if parts[:-1] == ["at", "Tensor"]:
        # Since 1.10 the methods that are no operators are of its base.
        scopes.append(["at", "TensorBase"])
    found = []
    for scope in scopes:
        encoded = "".join(f"{len(part)}{part}" for part in (*scope, parts[-1]))
        for prefix in (f"_ZN{encoded}", f"_ZNK{encoded}"):
            found += [history.windows for history in releases.prefix(prefix, missing.knowledge.machine)]
    if not found:
        return None
    with_any = [release for release in missing.known_versions if any(windows.contains(release) for windows in found)]
    return ReleaseRanges.of_known(missing.known_versions, set(with_any).__contains__)


def old_standard(mention: Mention, missing: MissingName) -> Candidates:
    """`C++17 or later compatible compiler is required to use ATen`"""
    standard = mention.text
    target = f"the headers of {missing.target_label}" if missing.target is not None else "torch's headers"
    evidence = (
        f"The source is compiled with an older C++ than {standard}, for which {target} ask.",
        "Build scripts that were written for an older torch give -std themselves.",
    )
    flag = f"-std={standard.lower()}"
    fix = (
        f"grep -rn -e '-std=' setup.py CMakeLists.txt  # take it out, or write {flag} (for nvcc too)\n"
        f"or a newer release of the project; {standard} needs a compiler that knows it"
    )
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.85, evidence, fix)
