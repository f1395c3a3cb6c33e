"""Detects the GPU in a text: its vendor (NVIDIA, AMD, Hygon), its compute capability, and the release of ROCm."""

from __future__ import annotations

from typing import Final

NVIDIA: Final = "nvidia"
AMD: Final = "amd"
DCU: Final = "dcu"
NPU: Final = "npu"
"""Huawei (Ascend) or Intel (XPU): its torch contains no CUDA code."""
NO_GPU: Final = "cpu"
"""A build of torch without GPU."""

# ROCm 5.7, rocm5.7, /opt/rocm-6.2.0, +rocm6.1, `HIP version: 5.6.31061` of hipcc --version.
_ROCM = r"(?a)(?<!torch-)(?i:rocm)[ /_:-]{0,2}[vV]?(\d{1,2}\.\d{1,2})(?![\d])|\bHIP version: (\d{1,2}\.\d{1,2})\b"
# `hipcc 5.7`, `HIP SDK 6.2`, also in Chinese.
_HIP = r"(?a)\b(?:hipcc|HIP)(?: SDK)?(?: ?version|\u7248\u672c)?[ :\uff1a]{0,2}v?(\d\.\d)(?!\d)"
# Names that are of GPUs of NVIDIA wherever they occur.
_NAMES = r"(?a)\b(?:G?[BH][1-3]00|H[28]0|H800|A100|A800|V100|(?:RTX|GTX) ?(?:PRO ?)?\d{4}|Tesla [KP]\d{1,3}[cmtx]?)\b"


def find_gpu_vendor(text: str) -> str:
    """`nvidia`, `amd`, `dcu` or `npu`; `cpu` for a build of torch without GPU; empty if the text names none, or GPUs of
    NVIDIA and of another vendor."""
    from abiscan.diagnosis.messages.text_facts import is_shown, shown  # a scan uses the names of vendors alone

    without_amd = is_shown("without_amd", text)
    found = [vendor for vendor, _ in shown("gpu", text) if vendor != AMD or not without_amd]
    if NVIDIA not in found and find_capability(text):
        found.append(NVIDIA)
    # DTK uses AMD's names of architectures.
    if not found and is_shown("with_rocm", text) and not without_amd and not is_shown("with_cuda", text):
        return AMD
    if not found:
        return NO_GPU if is_shown("without_gpu", text) else ""
    return "" if NVIDIA in found and len(found) > 1 else found[0]


def find_rocm(text: str) -> str:
    """The only release of ROCm (or of HIP, which has the same number) in a text, `5.7`; empty if there is none."""
    import re

    from abiscan.diagnosis.messages.values_in_text import only_value, values

    return only_value(values(re.compile(_ROCM), text) or values(re.compile(_HIP), text))


def find_capability(text: str) -> str:
    """The compute capability of the only GPU of NVIDIA that a text names: `9.0` for H100; empty if unknown."""
    import re

    from abiscan.diagnosis.messages.values_in_text import only_value, values
    from abiscan.model.gpu_toolkits import capability_of_name

    return only_value(filter(None, map(capability_of_name, values(re.compile(_NAMES), text))))
