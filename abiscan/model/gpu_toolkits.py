"""Which releases of the CUDA toolkit compile for a GPU, and the compute capabilities of GPUs by their names.

Sources: release notes of the CUDA toolkit (new and removed architectures), nvcc's documentation (`--gpu-architecture`),
https://developer.nvidia.com/cuda-gpus and https://developer.nvidia.com/cuda-legacy-gpus.
"""

from __future__ import annotations

import re
from typing import Final

# Compute capability -> first release of the toolkit.
_FIRST: Final = {
    "6.0": "8.0",
    "6.1": "8.0",
    "6.2": "8.0",
    "7.0": "9.0",
    "7.2": "9.2",
    "7.5": "10.0",
    "8.0": "11.0",
    "8.6": "11.1",
    "8.7": "11.4",
    "8.9": "11.8",
    "9.0": "11.8",
    "10.0": "12.8",
    "10.1": "12.8",
    "10.3": "12.9",
    "11.0": "13.0",
    "12.0": "12.8",
    "12.1": "12.9",
}
# Major compute capability (or a whole one) -> last release.
_LAST: Final = {
    "2": "8.0",
    "3.0": "10.2",
    "3.2": "10.2",
    "3": "11.8",
    "5": "12.9",
    "6": "12.9",
    "7.0": "12.9",
    "7.2": "12.9",
}
# Release of the toolkit -> the newest major release of GCC that it accepts, until the next row
# (torch/utils/cpp_extension.py, CUDA_GCC_VERSIONS; crt/host_config.h). nvcc of 11.4 and 11.5 accepts GCC 11 and cannot
# compile its headers.
_GCC: Final = {
    "9.0": 6,
    "9.2": 7,
    "10.1": 8,
    "11.0": 9,
    "11.1": 10,
    "11.6": 11,
    "12.0": 12,
    "12.4": 13,
    "12.8": 14,
    "13.0": 15,
}
NAMES: Final = tuple(
    (re.compile(pattern), capability)
    for pattern, capability in (
        (r"rtxpro\d{4}blackwell|rtx50[5-9]0", "12.0"),
        (r"gb10|dgxspark", "12.1"),
        (r"(?:jetson(?:agx)?|agx)thor", "11.0"),
        (r"(?:jetson(?:agx)?|agx)orin(?:nano|nx)?", "8.7"),
        (r"(?:jetson(?:agx)?|agx)xavier(?:nx)?|xaviernx", "7.2"),
        (r"jetsontx2(?:nx)?", "6.2"),
        (r"jetsonnano", "5.3"),
        (r"b300|gb300", "10.3"),
        (r"b200|gb200", "10.0"),
        (r"h100|h200|h800|h20|gh200", "9.0"),
        (r"rtx40[5-9]0|rtx[456]000ada|l40s?|l4|l20", "8.9"),
        (r"rtx30[5-9]0|rtxa\d{4}|a10g?|a40|a16|a2", "8.6"),
        (r"a100|a800|a30", "8.0"),
        (r"rtx20[6-8]0|gtx16[56]0|titanrtx|quadrortx\d{4}|teslat4|t4", "7.5"),
        (r"(?:tesla)?v100s?|titanv", "7.0"),
        (r"gtx10[5-8]0|titanxp|teslap4|teslap40|p40|p4", "6.1"),
        (r"(?:tesla)?p100", "6.0"),
        (r"gtx9[5-8]0|(?:tesla)?m[46]0|teslam4", "5.2"),
        (r"(?:tesla)?k80", "3.7"),
        (r"(?:tesla)?(?:k40[cmt]?|k20[cmx]?)|gtx780(?:ti)?", "3.5"),
        (r"gtx750(?:ti)?|gtx[89][56]0m", "5.0"),
        (r"gtx(?:6[6-9]0|7[67]0)", "3.0"),
    )
)
"""Patterns of the names of GPUs, without spaces and in lower case, and their compute capability. The first counts."""


_AMD = tuple(
    (re.compile(pattern), target)
    for pattern, target in (
        (r"9070(?:xt|gre)?|(?:aipro)?r9700", "gfx1201"),
        (r"9060(?:xt)?", "gfx1200"),
        (r"8060s|8050s", "gfx1151"),
        (r"860m|840m", "gfx1152"),
        (r"890m|880m", "gfx1150"),
        (r"780m|760m", "gfx1103"),
        (r"7900(?:xtx?|gre)?|(?:pro)?w7[89]00", "gfx1100"),
        (r"7[78]00(?:xt)?|(?:pro)?w7700", "gfx1101"),
        (r"7600(?:xt)?|(?:pro)?w7[56]00", "gfx1102"),
        (r"6[89][05]0(?:xt)?|(?:pro)?w6800", "gfx1030"),
        (r"67[05]0(?:xt)?", "gfx1031"),
        (r"680m|660m", "gfx1035"),
        (r"66[05]0(?:xt)?", "gfx1032"),
        (r"6[45]00(?:xt)?", "gfx1034"),
        (r"5[67]00(?:xt)?", "gfx1010"),
        (r"5500(?:xt)?", "gfx1012"),
        (r"mi35[05]x?", "gfx950"),
        (r"mi3(?:00|08|25)[ax]?", "gfx942"),
        (r"mi2(?:10|50)x?", "gfx90a"),
        (r"mi100", "gfx908"),
        (r"mi[56]0", "gfx906"),
        (r"mi25|vega(?:56|64)", "gfx900"),
        (r"[45][789]0x?|(?:pro)?wx[2-57]1[05]0", "gfx803"),
    )
)
"""Names of Radeon and Instinct GPUs without `Radeon`, `RX` and `Instinct`, and their targets (LLVM, AMDGPUUsage,
processors; Gentoo, amdgpu_targets)."""


def target_of_amd_gpu(name: str) -> str | None:
    """The target of a GPU of AMD by its name (`RX 9070 XT` -> `gfx1201`); None for a name that is not known."""
    plain = re.sub(r"[^a-z0-9]|radeon|instinct|rx", "", name.lower())
    return next((target for pattern, target in _AMD if pattern.fullmatch(plain)), None)


def first_toolkit(capability: str) -> str | None:
    """The first CUDA release that compiles for a compute capability (`8.9` -> `11.8`); None if unknown."""
    return _FIRST.get(capability)


def last_toolkit(capability: str) -> str | None:
    """The last CUDA release that compiles for it; None for those that the newest release supports."""
    return _LAST.get(capability) or _LAST.get(capability.partition(".")[0])


def newest_capability(toolkit: str, *, before: bool = False) -> str | None:
    """The newest compute capability of a graphics card or server that a CUDA release compiles for (`8.0` for 11.0);
    None if unknown.

    Args:
        before: the releases before it.
    """
    at = _release(toolkit)
    there = (each for each, first in _FIRST.items() if _release(first) < at or (not before and _release(first) == at))
    return max((each for each in there if each not in _OF_BOARDS), key=_release, default=None)


# Jetsons, and GPUs that run the code of another one.
_OF_BOARDS: Final = ("6.2", "7.2", "8.7", "10.1", "11.0")


def newest_gcc(toolkit: str) -> int | None:
    """The newest GCC that a CUDA release accepts (`11` for 11.8); None if unknown."""
    at = _release(toolkit)
    return next((gcc for first, gcc in reversed(_GCC.items()) if at and at >= _release(first)), None)


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in re.findall(r"\d{1,4}", text))


def capability_of_name(name: str) -> str | None:
    """The compute capability of a GPU by its name (`RTX 5090` -> `12.0`); None for a name that is not known."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    # "1080 Ti", "1080 GTX": a number alone is of one series.
    number, series = re.fullmatch(r"(\d{4})(?:ti)?(?:[rg]tx)?", plain), ("", "rtx", "gtx")
    forms = [plain] if number is None else [f"{each}{number[1]}" for each in series]
    return next((capability for pattern, capability in NAMES if any(map(pattern.fullmatch, forms))), None)
