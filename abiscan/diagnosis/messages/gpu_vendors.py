"""Detects the GPU in a text: its vendor (NVIDIA, AMD, Hygon), its compute capability, and the release of ROCm."""

from __future__ import annotations

import itertools
import re
from typing import Final

_MOST: Final = 1_000
NVIDIA: Final = "nvidia"
AMD: Final = "amd"
DCU: Final = "dcu"
NPU: Final = "npu"
"""Huawei (Ascend) or Intel (XPU): its torch contains no CUDA code."""
NO_GPU: Final = "cpu"
"""A build of torch without GPU."""

# Output of tools, names of GPUs and architectures; no words such as "NVIDIA" alone, which explanations of HIP contain.
_PATTERNS: Final = (
    # DTK is Hygon's ROCm, in /opt/dtk (https://github.com/rusty1s/pytorch_scatter/issues/412 has a log).
    (DCU, r"(?a)/opt/dtk|\b(?:DCU|DTK|[Hh]ygon)\b|\bdtk-?\d|\u6d77\u5149"),
    (NPU, r"(?a)\bNPU\b|\bAscend\b|\u6607\u817e|\bXPU\b|\boneAPI\b"),
    (
        AMD,
        (
            r"(?a)\bgfx\d{2,3}[0-9a-f]\b|(?i:\brocm[ /_:-]{0,2}v?\d{1,2}\.\d)|[+_-]rocm\d"
            r"|\bROCm (?:[Pp]y)?[Tt]orch\b(?!-)|\brocm/|\bHIP version: \d"
            r"|\bHIP SDK\b|\bUSE_ROCM=(?:1|ON)\b"
            r"|/opt/rocm|\bMI ?\d{2,3}[AX]?\b|\bRadeon\b|\bRX ?[5-9]\d{3}\b|\bamdgpu\b"
            r"|(?:my|an|have|use|using|[\u7684\u662f\u7528]) ?AMD (?:GPU|card|\u663e\u5361)(?!s?\u4e0a)"
        ),
    ),
    (
        NVIDIA,
        (
            r"(?a)\b(?:RTX|GTX|GeForce|Quadro|Tesla)\b|\b[rg]tx ?\d{3,4}\b"
            r"|\bJetson\b|\bJet[Pp]ack\b|\bAGX (?:Orin|Xavier)\b|\bXavier NX\b|\bDGX\b|\bGrace[ -]Hopper\b"
            r"|\b[AHVLTB]\d{2,3}0(?:[ -]?(?:SXM|PCIe|\d{2}GB))\b|NVIDIA-SMI \d"
            r"|\b(?:sm|compute)_\d{2,3}[af]?\b|\bNVIDIA [AHLT]\d{1,3}\b"
            r"|(?:my|an|have|use|using|[\u7684\u662f\u7528]) ?NVIDIA (?:GPU|card|\u663e\u5361|\u5361)(?!s?\u4e0a)"
        ),
    ),
)
# `USE_CUDA=0` of torch's setup.py, words about the build of torch, build strings of conda-forge.
_WITHOUT_GPU = (
    r"(?a)\bUSE_CUDA=(?:0|OFF)\b(?![^\n]{0,80}USE_ROCM=(?:1|ON))"
    r"|(?i:\b(?:torch|build|built|compiled)\b[^\n.,;]{0,32} without (?:cuda|gpu)\b|\bcpu[- ]only\b(?! wheels?))"
    r"|[+]cpu\b(?!\.html)|\u7eaf ?CPU|CPU ?(?:\u7248|\u6784\u5efa|\u7f16\u8bd1)(?! ?wheel)"
    r"|(?:\u65e0|\u4e0d\u5e26|\u6ca1\u6709|\u4e0d\u542b|\u672a\u542f\u7528|\u5173\u95ed)"
    r" ?(?:CUDA|GPU)(?![ \w]{0,8}\u7248\u672c)|(?<![\w])cpu_(?:[a-z]{1,16}_)?py3\d{1,2}h\w"
)
# Who builds with ROCm has a GPU of AMD; who names a release of CUDA beside it may not.
_WITH_ROCM = r"(?a)(?i:\brocm\b)|\bhipcc\b|\bAMD\b(?! ?(?:\u7684|\u63d0\u4f9b|'s|provides))"
_WITH_CUDA = r"(?a)(?i:\bcuda[ -]?(?:toolkit )?v?\d|\bnvidia)|\bcu1\d{2}\b|\bnvcc\b"
# ROCm 5.7, rocm5.7, /opt/rocm-6.2.0, +rocm6.1, `HIP version: 5.6.31061` of hipcc --version.
_ROCM = r"(?a)(?<!torch-)(?i:rocm)[ /_:-]{0,2}[vV]?(\d{1,2}\.\d{1,2})(?![\d])|\bHIP version: (\d{1,2}\.\d{1,2})\b"
# `hipcc 5.7`, `HIP SDK 6.2`, also in Chinese.
_HIP = r"(?a)\b(?:hipcc|HIP)(?: SDK)?(?: ?version|\u7248\u672c)?[ :\uff1a]{0,2}v?(\d\.\d)(?!\d)"
# Names that are of GPUs of NVIDIA wherever they occur.
_NAMES = r"(?a)\b(?:G?[BH][1-3]00|H[28]0|H800|A100|A800|V100|(?:RTX|GTX) ?(?:PRO ?)?\d{4}|Tesla [KP]\d{1,3}[cmtx]?)\b"


def find_gpu_vendor(text: str) -> str:
    """`nvidia`, `amd`, `dcu` or `npu`; `cpu` for a build of torch without GPU; empty if the text names none, or GPUs of
    NVIDIA and of another vendor."""
    found = [vendor for vendor, pattern in _PATTERNS if re.search(pattern, text) is not None]
    if NVIDIA not in found and find_capability(text):
        found.append(NVIDIA)
    # DTK uses AMD's names of architectures.
    if not found and re.search(_WITH_ROCM, text) is not None and re.search(_WITH_CUDA, text) is None:
        return AMD
    if not found:
        return NO_GPU if re.search(_WITHOUT_GPU, text) is not None else ""
    return "" if NVIDIA in found and len(found) > 1 else found[0]


def find_rocm(text: str) -> str:
    """The only release of ROCm (or of HIP, which has the same number) in a text, `5.7`; empty if there is none."""
    found = {match[1] or match[2] for match in itertools.islice(re.finditer(_ROCM, text), _MOST)}
    found = found or {match[1] for match in itertools.islice(re.finditer(_HIP, text), _MOST)}
    return found.pop() if len(found) == 1 else ""


def find_capability(text: str) -> str:
    """The compute capability of the only GPU of NVIDIA that a text names: `9.0` for H100; empty if unknown."""
    from abiscan.model.gpu_toolkits import capability_of_name

    names = {match[0] for match in itertools.islice(re.finditer(_NAMES, text), _MOST)}
    found = {capability for name in names if (capability := capability_of_name(name)) is not None}
    return found.pop() if len(found) == 1 else ""
