"""Facts for templates and conditions of the message catalogue, besides captured values. A fact is computed from these
values, the file and the target; None if unknown. It is safe in a command."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from abiscan.diagnosis.catalogue.named_functions import functions_of
from abiscan.diagnosis.causes.template_mangling import fix_for_any_element
from abiscan.diagnosis.facts import (
    build_facts,
    companion_facts,
    dll_facts,
    gpu_facts,
    index_facts,
    operator_facts,
    package_facts,
    requirement_facts,
    source_facts,
    torch_facts,
)
from abiscan.diagnosis.fixes.extension_fixes import NEEDS_CHECKOUT
from abiscan.diagnosis.fixes.hip_sources import gpu_vendor_of, is_for_hip, rocm_of
from abiscan.diagnosis.fixes.torch_commands import WHEELS_FOR_JETSON, hip_for_windows
from abiscan.diagnosis.fixes.wheel_rows import cuda_release, platform_of
from abiscan.diagnosis.libraries import cuda_on_macos
from abiscan.diagnosis.templates.name_facts import NAME_FACTS, FactOfName, Facts, facts_of_name
from abiscan.diagnosis.text.gpu_vendors import DCU
from abiscan.diagnosis.text.source_builds import CONTAINER
from abiscan.model.gpu_toolkits import first_toolkit
from abiscan.ownership import torch_headers


def _there(*names: str) -> FactOfName:
    """The release of a package that is there, by the names that a text may give it."""
    return lambda missing: next(filter(None, map(missing.log.releases.get, names)), None)


def _asked(*names: str) -> FactOfName:
    """The release of a package that the text asks about."""
    return lambda missing: next(filter(None, map(missing.log.asked_releases.get, names)), None)


_OF_ENVIRONMENT: Final[Mapping[str, FactOfName]] = {
    # As in wheel tags: `linux_x86_64`, `win_amd64`.
    "platform": platform_of,
    # Of the GPU, according to the text or the variant of torch: `nvidia`, `amd`, `xpu`.
    "gpu_vendor": gpu_vendor_of,
    # Whether the GPU is AMD's or Hygon's, or torch is for ROCm.
    "for_hip": is_for_hip,
    # What HIP compiles for, in words that `find_gpu_vendor` and `find_rocm` read: `ROCm 5.7`, `DCU`.
    "hip_platform": lambda missing: "DCU" if gpu_vendor_of(missing) == DCU else f"ROCm {rocm_of(missing)}".rstrip(),
    # macOS, for which no CUDA exists but for old Macs with a GPU of NVIDIA.
    "mac_without_cuda": cuda_on_macos.is_mac_without_cuda,
    # The compute capability of the only GPU that the text names, and the first CUDA release that compiles for it.
    "named_capability": lambda missing: missing.log.capability,
    "toolkit_of_named_gpu": lambda missing: first_toolkit(missing.log.capability),
    # The words of the text that show that the installed torch is a CPU build.
    "cpu_build": lambda missing: missing.log.cpu_build,
    "torch_of_jetson": lambda missing: missing.log.is_jetson and WHEELS_FOR_JETSON,
    # What installs packages in place of pip: a key of installers.toml.
    "package_installer": lambda missing: missing.log.installer,
    # Linux on Windows.
    "on_wsl": lambda missing: missing.log.is_wsl,
    "on_jetson": lambda missing: missing.log.is_jetson,
    # A system with musl, for which torch and most packages with CUDA have no wheels.
    "on_musl": lambda missing: missing.log.is_musl,
    "torch_of_image": lambda missing: missing.log.packager == CONTAINER,
    # Only wheels of its own ABI tag are for a free-threaded interpreter.
    "without_gil": lambda missing: missing.log.is_free_threaded,
    "needs_checkout": lambda _missing: NEEDS_CHECKOUT,
    # The torch with known headers.
    "headers_of": lambda _missing: torch_headers.version_read(),
    # What to change where a text names at::TensorBase::const_data_ptr<T>(), without its mangling.
    "without_const": fix_for_any_element,
    "vllm_release": _there("vllm"),
    "sglang_release": _there("sglang"),
    "fla_release": _there("fla", "flash-linear-attention", "fla-core"),
    "asked_vllm": _asked("vllm"),
    "asked_flashinfer": _asked("flashinfer", "flashinfer-python"),
    "asked_torch": _asked("torch", "pytorch"),
    "asked_fla": _asked("fla", "flash-linear-attention"),
    # The release that a text asks about, else the one that is there.
    "named_vllm": lambda missing: _asked("vllm")(missing) or _there("vllm")(missing),
    # The CUDA release in the label of the torch of the text: a release on Windows has builds for several, and a version
    # without a label is often a CPU build.
    "stated_cuda": lambda missing: cuda_release(missing.environment.packages.get("torch", "").partition("+")[2]),
    # The command that installs torch for a GPU of AMD on Windows.
    "hip_of_windows": hip_for_windows,
}


FACTS: Final[Facts] = {
    **functions_of(
        *(build_facts, companion_facts, dll_facts, gpu_facts, index_facts),
        *(operator_facts, package_facts, requirement_facts, source_facts, torch_facts),
    ),
    **NAME_FACTS,
    **facts_of_name(_OF_ENVIRONMENT),
}
"""Each public function of these modules is a fact of its name, and each row of these tables."""
