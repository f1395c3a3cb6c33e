"""Facts of the message catalogue about GPUs (values `gpu`, `supported`) and their vendors."""

from __future__ import annotations

import re
from typing import Final

from msgspec.structs import replace

from abiscan.diagnosis.catalogue.named_functions import Values
from abiscan.diagnosis.fixes import torch_commands, wheel_rows
from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of, is_for_hip, rocm_of
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.text.gpu_vendors import AMD, NVIDIA, WITHOUT_CUDA_CODE
from abiscan.diagnosis.text.source_builds import CONTAINER
from abiscan.model import versions
from abiscan.model.cuda_driver import toolkit_of_ptx
from abiscan.model.gpu_toolkits import first_toolkit, last_toolkit
from abiscan.releases.kernel_lists import has_code, newest_with
from abiscan.releases.torch_indexes import INDEXES


def capability(values: Values, _missing: MissingName) -> str | None:
    """`8.6` for the value `gpu` sm_86 or compute_86."""
    found = re.fullmatch(r"(?:sm|compute)_(\d{1,2})(\d)[af]?", values.get("gpu", ""))
    return None if found is None else f"{found[1]}.{found[2]}"


def cuda_of_ptx(values: Values, _missing: MissingName) -> str | None:
    """The first CUDA release that writes the PTX version `ptx`: `12.4` for 8.4."""
    found = toolkit_of_ptx(values.get("ptx", ""))
    # CUDA 12.7 is a driver alone: there is no toolkit of it.
    return None if found is None else found.partition(" ")[0].replace("12.7", "12.8")


def newest_cuda_of_ptx(values: Values, _missing: MissingName) -> str | None:
    """The CUDA releases with a compiler that writes PTX up to the version `newest`: `12.5 or 12.6` for 8.5."""
    return toolkit_of_ptx(values.get("newest", ""))


def other_capability(values: Values, missing: MissingName) -> str | None:
    """The same, if the value `gpu` is of another one."""
    named = missing.log.capability
    return named if named and named != capability(values, missing) else None


def torch_for_named_gpu(values: Values, missing: MissingName) -> str | None:
    """The command that installs a torch with code for that GPU, if the target has none; if it is unknown, the build of
    the value `torch` on the package index."""
    gpu = {"gpu": f"sm_{missing.log.capability.replace('.', '')}"}
    there = missing
    if missing.target is None and (builds := [*missing.knowledge.released_builds(values.get("torch", ""))]):
        there = missing.with_knowledge(target=builds[0])
    return torch_for_gpu(gpu, missing) if torch_lacks_gpu(gpu, there) else None


def gpu_digits(values: Values, missing: MissingName) -> str | None:
    """`86` for the value `gpu` sm_86 or compute_86."""
    return (capability(values, missing) or "").replace(".", "") or None


def gpu_first_cuda(values: Values, missing: MissingName) -> str | None:
    """The first CUDA release that compiles for the value `gpu`; code for a family (compute_100f) needs 12.9."""
    first = first_toolkit(capability(values, missing) or "")
    return "12.9" if first == "12.8" and values.get("gpu", "").endswith("f") else first


def gpu_last_cuda(values: Values, missing: MissingName) -> str | None:
    """The last CUDA release that compiles for the value `gpu`."""
    return last_toolkit(capability(values, missing) or "")


def gpu_is_dropped(values: Values, missing: MissingName) -> bool:
    """Whether the toolkit is later than the last that compiles for the value `gpu`: the text gives its release, or that
    of the target's CUDA, or each toolkit that supports no such GPU is later."""
    last = versions.order(gpu_last_cuda(values, missing) or "")
    if last is None:
        return False
    # Not any CUDA of the text: nvidia-smi prints that of the driver.
    there = versions.order(missing.log.toolkit or missing.target_cuda)
    return gpu_first_cuda(values, missing) is None if there is None else there[:2] > last


def toolkit_of_torch(values: Values, missing: MissingName) -> str | None:
    """The CUDA release of the target's torch, where the text names it and it compiles for the value `gpu`."""
    cuda = missing.target_cuda
    first, last, at = (
        versions.order(each or "") for each in (gpu_first_cuda(values, missing), gpu_last_cuda(values, missing), cuda)
    )
    stated = missing.target is not None and missing.log.variant in ("", missing.target.variant)
    fits = (
        at is not None
        and (first is not None or last is not None)
        and (first is None or at >= first)
        and (last is None or at <= last)
    )
    return cuda if stated and fits else None


def torch_lacks_gpu(values: Values, missing: MissingName) -> bool:
    """Whether the build that the text names, or builds of torch for the CUDA of the target or of the text, have no code
    for the value `gpu`."""
    cuda = missing.target_cuda or wheel_rows.cuda_release(missing.log.variant)
    first, there, at = (
        versions.order(each or "") for each in (gpu_first_cuda(values, missing), cuda, capability(values, missing))
    )
    if not there or not at:
        return False
    if (listed := _is_listed(values, missing)) is not None:
        return not listed
    is_too_old = at[:2] < _OLDEST_SINCE_12_8 and there[:2] >= _WITHOUT_OLD_CODE
    return is_too_old or (first is not None and there < first)


def _is_listed(values: Values, missing: MissingName) -> bool | None:
    """Whether the list of the build that the text names has code for the value `gpu`; None if it is not known."""
    is_own = missing.log.is_jetson or missing.log.packager or "aarch64" in missing.log.platform
    is_stated = "+cu" in (missing.log.torch or "") and not is_own
    if missing.target is None or not is_stated or missing.knowledge.target_from_source:
        return None
    return has_code(f"{missing.target.version}+{missing.target.variant}-x86_64", capability(values, missing) or "")


def torch_has_gpu(values: Values, missing: MissingName) -> bool:
    """Whether the build of PyTorch that the text names has code for the value `gpu`, and the text names no other GPU. A
    binary of a compute capability runs on the later ones of its major number."""
    is_own = missing.log.is_jetson or missing.log.packager or missing.knowledge.target_from_source
    is_another = capability(values, missing) != missing.log.capability
    lacks = bool(is_own) or is_another or is_for_hip(missing) or torch_lacks_gpu(values, missing)
    return not lacks and "+cu" in (missing.log.torch or "") and toolkit_of_torch(values, missing) is not None


def release_lacks_gpu(values: Values, missing: MissingName) -> bool:
    """The same, for a torch without a label only if it holds for each CUDA build of its release."""
    if missing.target is None or is_for_hip(missing):
        return False
    if "+" not in (missing.log.torch or ""):
        builds = filter(None, map(wheel_rows.cuda_release, torch_commands.variants_of(missing.target.version, missing)))
        targets = [replace(missing.target, cuda=cuda) for cuda in builds]
        each = [torch_lacks_gpu(values, missing.with_knowledge(target=target)) for target in targets]
        return bool(each) and all(each)
    return bool(missing.target.cuda) and torch_lacks_gpu(values, missing)


# Radeon GPUs -> the GPU of their family that has code in ROCm's libraries (https://rocm.docs.amd.com, the table of
# supported GPUs); they run this code, as reported in its discussions.
_RADEON = ((r"gfx101\w|gfx103[1-6]", "10.3.0"), (r"gfx110[1-3]", "11.0.0"))
# Builds of torch for ROCm since then have code for the GPUs of its data centers and for Radeon RX 7000.
_COMMON_ROCM = (6, 4)


def radeon_override(values: Values, missing: MissingName) -> str | None:
    """The value of HSA_OVERRIDE_GFX_VERSION for the value `gpu`, else for the GPU of AMD of the text, a Radeon without
    code of its own. HIP for Windows reads no such variable."""
    gpu = values.get("gpu") or missing.log.amd_gpu
    if wheel_rows.is_on_windows(missing):
        return None
    return next((version for family, version in _RADEON if re.fullmatch(family, gpu)), None)


def old_radeon(values: Values, missing: MissingName) -> str | None:
    """The value `gpu`, else the GPU of AMD of the text, if it is so old that ROCm's libraries have no code for its
    family: Polaris, Fiji and older ones."""
    gpu = values.get("gpu") or missing.log.amd_gpu
    return gpu if re.fullmatch(r"gfx[678]\d\d", gpu) else None


def runs_hip(values: Values, _missing: MissingName) -> bool:
    """Whether the code is for HIP: the text shows HIP (value `hip`), and the value `gpu` is not NVIDIA's."""
    return "hip" in values and not values.get("gpu", "").startswith("sm_")


def rocm_build(values: Values, missing: MissingName) -> str | None:
    """The command that installs a torch with code for the value `gpu`, else for the GPU of AMD of the text, if a build
    has."""
    gpu = values.get("gpu") or missing.log.amd_gpu
    if torch_commands.has_no_rocm_build(gpu):
        return None
    return torch_commands.torch_with_hip(missing.with_knowledge(log=replace(missing.log, gpu=AMD, amd_gpu=gpu)))


def keeps_rocm_build(values: Values, missing: MissingName) -> bool:
    """Whether that command installs the torch that is there, which has code for the GPU."""
    target, command = missing.target, rocm_build(values, missing) or ""
    index = command.rpartition("/")[2]
    return target is not None and f"=={target.version} " in command and f"{index}.".startswith(f"{target.variant}.")


def newer_rocm_wheel(values: Values, missing: MissingName) -> str | None:
    """The same, if only builds for a later ROCm than that of the text have code for the GPU. If the text names none:
    later than those that are common."""
    since = torch_commands.first_rocm_of(values.get("gpu", ""))
    first, here = versions.order(since), versions.order(rocm_of(missing))
    if first is None or (first < _COMMON_ROCM if here is None else here >= first):
        return None
    return None if torch_commands.hip_for_windows(missing) else rocm_build(values, missing)


def first_rocm(values: Values, _missing: MissingName) -> str | None:
    """The first ROCm for which builds of torch have code for the value `gpu`, if not each has."""
    return torch_commands.first_rocm_of(values.get("gpu", "")) or None


# Builds of torch for CUDA 12.8 and later have code from 7.5 on (https://github.com/pytorch/pytorch/blob/main/RELEASE.md
# and .ci/manywheel/build_cuda.sh, 2026-11-25).
_WITHOUT_OLD_CODE = (12, 8)
_OLDEST_SINCE_12_8 = (7, 5)
_OF_OLD_CODE = (12, 6)
_THOR = 11
_GB10 = (12, 1)


def torch_for_gpu(values: Values, missing: MissingName) -> str | None:
    """The command that installs a torch with code for the value `gpu`, which is newer or older than most builds."""
    at = versions.order(capability(values, missing) or "")
    # Of the Jetsons only Thor runs wheels of PyTorch. torch 2.9.1 for CUDA 12.8 has no code for it; aarch64 builds for
    # CUDA 13.0 have (pytorch pull request 161257; OpenRAL/openral pull request 167, 2026-08-25).
    if not at or missing.log.packager == CONTAINER:
        return None
    if missing.log.is_jetson and at[0] != _THOR:
        return None
    if at >= (10, 0):
        index, oldest = ("cu130", (2, 9)) if at[0] == _THOR or at[:2] == _GB10 else ("cu128", (2, 7))
        here = versions.order(missing.target_version) or ()
        # torch 2.12 has no builds for CUDA 12.8.
        if missing.target is not None and oldest <= here[:2] < (2, 12):
            return f"pip install --force-reinstall torch=={missing.target.version} --index-url {INDEXES}{index}"
        since = ".".join(map(str, oldest))
        return f"pip install -U torch --index-url {INDEXES}{index}  # torch {since} or later"
    if (versions.order(gpu_last_cuda(values, missing) or "") or _WITHOUT_OLD_CODE) < _OF_OLD_CODE:
        build = newest_with(values["gpu"].replace("compute_", "sm_"))
        return torch_commands.install_torch(build[0], missing, variant=build[1]) if build else None
    if at[:2] < _OLDEST_SINCE_12_8:
        of_target = "cu126" in torch_commands.variants_of(missing.target_version, missing)
        found = torch_commands.torch_of_variant("cu126", missing) if of_target else None
        command = torch_commands.force_reinstall(found or torch_commands.newest_torch("cu126", missing))
        command = command.replace(" -U", "", 1)
        return f"{command}  # builds for CUDA 12.8 and later have no code for it"
    if not torch_lacks_gpu(values, missing) and "refused_by_torch" not in values:
        return None
    first = gpu_first_cuda(values, missing) or ""
    same = None
    if missing.target is not None:
        same = torch_commands.torch_of_cuda_since(first, first.partition(".")[0], missing)
    newest = torch_commands.newest_torch("cu126", missing)
    return newest if same is None else f"{same}\nor the newest torch: {newest}"


def with_hip(values: Values, missing: MissingName) -> bool:
    """Whether HIP's compiler failed: the message shows it (value `hip`), the GPU is AMD's or Hygon's, or the text
    retells the message (value `prose`) and names neither a GPU of NVIDIA nor its compiler alone."""
    # GCC prints the arguments, Clang does not: a person wrote them, unless a file is named.
    is_shown = values.get("hip") and not (values["hip"] == "__ldg(" and "source_file" in values)
    return bool(is_shown) or is_for_hip(missing) or _retold_of_hip(values, missing)


def _retold_of_hip(values: Values, missing: MissingName) -> bool:
    is_nvcc = "nvcc_named" in values and "hip_named" not in values
    return "prose" in values and gpu_vendor_of(missing) != NVIDIA and not is_nvcc


def hip_beside_nvidia(values: Values, missing: MissingName) -> bool:
    """Whether HIP's compiler ran, as more than the form of the message shows, and the GPU is NVIDIA's."""
    is_nvidia = gpu_vendor_of(missing) == NVIDIA and not hip_is_likely(values, missing)
    return is_nvidia and with_hip(values, missing)


def hip_is_likely(values: Values, missing: MissingName) -> bool:
    """Whether only the form of the message shows HIP, as Clang prints it for CUDA, too."""
    is_shown = "generated" in values or "hip_named" in values or is_for_hip(missing)
    return values.get("hip") == "__ldg" and not is_shown


def torch_bfloat16(values: Values, _missing: MissingName) -> bool:
    """Whether the value `half` is torch's BFloat16, of which c10/util/BFloat16.h has __ldg under HIP, too."""
    return values.get("half", "").endswith("::BFloat16")


# c10/util/BFloat16-inl.h of torch 1.7.1, 1.8.1 and later, compiled by nvcc and by Clang with HIP's headers.
_FIRST_WITH_BFLOAT16_LOAD: Final = (1, 8)


def without_bfloat16_load(_values: Values, missing: MissingName) -> bool:
    """Whether torch is too old to have __ldg of its BFloat16."""
    release = versions.order(missing.target_version)
    return release is not None and release < _FIRST_WITH_BFLOAT16_LOAD


def cuda_is_named(_values: Values, missing: MissingName) -> bool:
    """Whether the text names a CUDA release or a GPU of NVIDIA, or torch is for CUDA."""
    return bool(missing.log.variant) or gpu_vendor_of(missing) == NVIDIA or "cu" in missing.target_variant


def torch_for_rocm(_values: Values, missing: MissingName) -> bool:
    """Whether the text or the variant of torch shows a build for ROCm, not the GPU alone."""
    return missing.target_variant.startswith("rocm") or "+rocm" in missing.environment.packages.get("torch", "")


def for_cpu(_values: Values, missing: MissingName) -> bool:
    """Whether torch has no code for a GPU of NVIDIA or AMD: a CPU build or one for an NPU, according to the text or its
    variant; on macOS."""
    is_cpu = gpu_vendor_of(missing) in WITHOUT_CUDA_CODE or missing.target_variant == "cpu"
    return is_cpu or wheel_rows.platform_of(missing) == "macosx"


def gpu_is_newer(values: Values, _missing: MissingName) -> bool:
    """Whether the value `gpu` is newer than each of `supported`."""
    gpu, *supported = _gpu_and_supported(values)
    return bool(gpu) and any(supported) and gpu > max(supported)


def gpu_is_older(values: Values, _missing: MissingName) -> bool:
    """Whether the value `gpu` is older than each of `supported`, or the message has the value `too_old`."""
    gpu, *supported = _gpu_and_supported(values)
    return "too_old" in values or (bool(gpu) and any(supported) and gpu < min(supported))


def _gpu_and_supported(values: Values) -> tuple[int, ...]:
    """The number in the value `gpu`, and in each of `supported`; 0 for none."""
    names = (values.get("gpu", ""), *values.get("supported", "").split(", "))
    found = (re.search(r"\d{1,4}", name) for name in names)
    return tuple(0 if each is None else int(each[0]) for each in found)


def has_cuda_of_library(values: Values, missing: MissingName) -> bool:
    """Whether the target is for the CUDA major release in the name of the value `cuda_library`: `libnppicc.so.13`."""
    major = (missing.target_cuda or "").partition(".")[0]
    return bool(major) and major == values.get("cuda_library", "").rpartition(".so.")[2]
