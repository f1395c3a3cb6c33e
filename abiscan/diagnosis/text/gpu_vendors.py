"""Detects the GPU in a text: its vendor, its compute capability, and the release of ROCm."""

from __future__ import annotations

from typing import Final

NVIDIA: Final = "nvidia"
AMD: Final = "amd"
DCU: Final = "dcu"
NPU: Final = "npu"
"""Huawei (Ascend)."""
XPU: Final = "xpu"
"""Intel."""
NO_GPU: Final = "cpu"
"""A build of torch without GPU."""
WITHOUT_CUDA_CODE: Final = (NO_GPU, NPU, XPU)
"""Their torch contains no CUDA code, nor HIP."""


def find_gpu_vendor(text: str) -> str:
    """`nvidia`, `amd`, `dcu`, `npu` or `xpu`; `cpu` for a build of torch without GPU; empty if the text names none, or
    GPUs of NVIDIA and of another vendor."""
    from abiscan.diagnosis.text.text_facts import is_shown, shown  # a scan uses the names of vendors alone

    without_amd = is_shown("without_amd", text)
    found = [vendor for vendor, _ in shown("gpu", text) if vendor != AMD or not without_amd]
    if NVIDIA not in found and find_capability(text):
        found.append(NVIDIA)
    if not found and is_shown("only_cpu", text) and not is_shown("torch_for_cuda", text):
        return NO_GPU
    # DTK uses AMD's names of architectures.
    if not found and not without_amd:
        with_rocm = is_shown("with_rocm", text) and not is_shown("with_cuda", text)
        # A release of CUDA is the user's; a path is that of the torch which was installed by mistake.
        if with_rocm or (is_shown("rocm_folder", text) and not is_shown("cuda", text)):
            return AMD
    if not found:
        return NO_GPU if is_shown("without_gpu", text) or is_shown("cpu_build", text) else ""
    return "" if NVIDIA in found and len(found) > 1 else found[0]


def find_rocm(text: str) -> str:
    """The only release of ROCm (or of HIP, which has the same number) in a text, `5.7`; empty if there is none."""
    from abiscan.diagnosis.text.text_facts import values
    from abiscan.diagnosis.text.values_in_text import only_value

    return only_value(values("rocm_release", text) or values("hip_release", text))


def find_capability(text: str) -> str:
    """The compute capability of the only GPU of NVIDIA that a text names: `9.0` for H100; empty if unknown."""
    from abiscan.diagnosis.text.text_facts import values
    from abiscan.diagnosis.text.values_in_text import only_value
    from abiscan.model.gpu_toolkits import capability_of_name

    return only_value(filter(None, map(capability_of_name, values("nvidia_gpu", text))))
