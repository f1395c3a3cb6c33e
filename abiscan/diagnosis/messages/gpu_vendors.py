"""Detects the vendor of the GPU in a text: of NVIDIA, AMD or Hygon (DCU)."""

from __future__ import annotations

import re
from typing import Final

NVIDIA: Final = "nvidia"
AMD: Final = "amd"
DCU: Final = "dcu"

# Output of tools, names of GPUs and architectures; no words such as "NVIDIA" alone, which explanations of HIP contain.
_PATTERNS: Final = (
    # DTK is Hygon's ROCm, in /opt/dtk (https://github.com/rusty1s/pytorch_scatter/issues/412 has a log).
    (DCU, re.compile(r"/opt/dtk|\b(?:DCU|DTK|[Hh]ygon)\b|\bdtk-?\d|\u6d77\u5149", re.ASCII)),
    (
        AMD,
        re.compile(
            r"\bgfx\d{2,3}[0-9a-f]\b|\+rocm\d|/opt/rocm|\bMI ?\d{2,3}[AX]?\b|\bRadeon\b|\bRX ?[5-9]\d{3}\b|\bamdgpu\b"
            r"|(?:my|an|have|use|using|[\u7684\u662f\u7528]) ?AMD (?:GPU|card|\u663e\u5361)(?!s?\u4e0a)",
            re.ASCII,
        ),
    ),
    (
        NVIDIA,
        re.compile(
            r"\b(?:RTX|GTX|GeForce|Quadro|Tesla)\b|\b[AHVLTB]\d{2,3}0(?:[ -]?(?:SXM|PCIe|\d{2}GB))\b|NVIDIA-SMI \d"
            r"|\b(?:sm|compute)_\d{2,3}[af]?\b|\bNVIDIA [AHLT]\d{1,3}\b"
            r"|(?:my|an|have|use|using|[\u7684\u662f\u7528]) ?NVIDIA (?:GPU|card|\u663e\u5361|\u5361)(?!s?\u4e0a)",
            re.ASCII,
        ),
    ),
)


def find_gpu_vendor(text: str) -> str:
    """`nvidia`, `amd` or `dcu`; empty if the text names none, or GPUs of NVIDIA and of another vendor."""
    found = [vendor for vendor, pattern in _PATTERNS if pattern.search(text) is not None]
    # DTK uses AMD's names of architectures.
    return "" if NVIDIA in found and len(found) > 1 else found[0] if found else ""
