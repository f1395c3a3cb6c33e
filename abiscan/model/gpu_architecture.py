"""GPU architecture names, and compatibility of device code with GPUs.

NVIDIA: machine code for X.Y runs on X.Z with Z >= Y, PTX for X.Y is compiled for any GPU from X.Y on; with the suffix
`a` both run on that architecture only, with `f` on its family (CUDA C++ Programming Guide, "Binary Compatibility",
"PTX Compatibility", https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility; CUDA
Programming Guide, "Family-Specific Compatibility",
https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/compute-capabilities.html). The families are those of
PTX ISA, ".target", table "Architecture Families"
(https://docs.nvidia.com/cuda/parallel-thread-execution/index.html#ptx-module-directives-target): 10.x without 10.1,
11.x with it, 12.x. Machine code is not compatible between Tegra and other GPUs ("Binary Compatibility"). The Tegra
architectures are those of the Jetson products (https://developer.nvidia.com/cuda-gpus,
https://developer.nvidia.com/cuda-legacy-gpus); torch/cuda/__init__.py of torch 2.13 has the same table
(DEVICE_REQUIREMENT). CUDA 13.0 renumbered sm_101 as sm_110
(https://docs.nvidia.com/cuda/archive/13.0.0/cuda-toolkit-release-notes/index.html). tests/truth/gpu/test_ptxas.py
compares PTX and families with ptxas.

AMD: machine code for a processor runs on that processor only, code for a generic processor on the processors in its
list. If an image sets the feature xnack or sramecc, the GPU must have the same setting
(https://llvm.org/docs/AMDGPUUsage.html#target-id, #amdgpu-generic-processor-table).
"""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from abiscan.model.cuda_driver import compiles
from abiscan.model.device_code import DeviceImages, GpuModule

# X.Y as two or three digits; the last is the minor revision.
_NVIDIA = re.compile(r"(?:(sm|compute|lto)_)?(\d{2,3})([af]?)")
_CAPABILITY = re.compile(r"(\d{1,2})\.(\d)([af]?)")
_AMD = re.compile(r"(gfx[0-9a-f]+|gfx\d+(?:-\d+)?-generic)((?::(?:xnack|sramecc)[+-])*)")

# Tegra: Jetson Nano, TX2, Xavier, Orin, and Thor under two names (CUDA 12.8-12.9, and 13.0 and later).
_TEGRA = frozenset({53, 62, 72, 87, 101})
_RENAMED = {101: 110}
# NVIDIA GPUs with compute capability 5.0 or later (https://developer.nvidia.com/cuda-gpus and
# https://developer.nvidia.com/cuda-legacy-gpus).
NVIDIA_GPUS = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 103, 110, 120, 121)
# Older ones, one under its old name, and one that nvcc 13.0 compiles for and no list contains.
_OTHERS = (30, 32, 35, 37, 88, 101)

_GENERIC = {
    "gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
    "gfx9-4-generic": ("gfx940", "gfx941", "gfx942", "gfx950"),
    "gfx10-1-generic": ("gfx1010", "gfx1011", "gfx1012", "gfx1013"),
    "gfx10-3-generic": ("gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"),
    "gfx11-generic": (
        *("gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
        *("gfx1170", "gfx1171", "gfx1172"),
    ),
    "gfx12-generic": ("gfx1200", "gfx1201"),
}
# AMD intermediate code, which the runtime compiles for the present GPU.
SPIRV = "amdgcnspirv"


class Runs(enum.StrEnum):
    """Whether device code runs on a GPU."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class GpuArchitecture(Struct, frozen=True):
    """Architecture of a GPU or of a device image.

    Attributes:
        kind: `sm`, `compute`, `lto` or `gfx`.
        number: X * 10 + Y for NVIDIA, 0 for AMD.
        suffix: `a`, `f` or empty.
        processor: for AMD, such as `gfx90a`; features: `xnack+`, ..., sorted.
    """

    kind: str
    number: int = 0
    suffix: str = ""
    processor: str = ""
    features: tuple[str, ...] = ()

    @property
    def is_gpu(self) -> bool:
        """Whether this names a GPU, not a code form or a family."""
        return self.kind == "sm" or (self.kind == "gfx" and self.processor != SPIRV and self.processor not in _GENERIC)

    @property
    def is_listed(self) -> bool:
        """Whether it is a known NVIDIA architecture, or any AMD one."""
        return self.kind != "sm" or self.number in (*NVIDIA_GPUS, *_OTHERS)

    @property
    def capability(self) -> str:
        """Compute capability of an NVIDIA architecture, such as `9.0` or `10.3a`."""
        return f"{self.number // 10}.{self.number % 10}{self.suffix}"

    def __str__(self) -> str:
        if self.kind == "gfx":
            return ":".join((self.processor, *self.features))
        return f"{self.kind}_{self.number}{self.suffix}"


def parse_architecture(text: str) -> GpuArchitecture | None:
    """Parse `sm_90a`, `compute_90`, `90a`, `9.0` or `gfx90a:xnack+`; None if the text is not an architecture."""
    match = _NVIDIA.fullmatch(text)
    if match is not None:
        return GpuArchitecture(match[1] or "sm", int(match[2]), match[3])
    match = _CAPABILITY.fullmatch(text)
    if match is not None:
        return GpuArchitecture("sm", int(match[1]) * 10 + int(match[2]), match[3])
    match = _AMD.fullmatch(text)
    if match is not None:
        return GpuArchitecture("gfx", processor=match[1], features=tuple(sorted(match[2].split(":")[1:])))
    return GpuArchitecture("gfx", processor=SPIRV) if text == SPIRV else None


def runs_on(image: str, gpu: GpuArchitecture) -> Runs:
    """Whether an image of this architecture runs on a GPU; MAYBE for an unknown name.

    Args:
        gpu: such as `sm_90` or `gfx942`; a suffix is ignored. An AMD feature that it does not name is unknown.
    """
    code = parse_architecture(image)
    if code is None:
        return Runs.UNKNOWN
    if (code.kind == "gfx") != (gpu.kind == "gfx"):
        return Runs.NO
    if code.kind == "gfx":
        return _runs_on_amd(code, gpu)
    if code.kind == "lto":
        return Runs.NO
    there = gpu.number
    made_for = there if code.number == there else _RENAMED.get(code.number, code.number)
    if code.suffix == "a":
        fits = made_for == there
    elif code.suffix == "f":
        fits = _family(made_for) == _family(there) and made_for % 10 <= there % 10
    elif code.kind == "compute":
        fits = code.number <= there
    elif code.number in _TEGRA or there in _TEGRA:
        fits = made_for == there
    else:
        fits = made_for // 10 == there // 10 and made_for <= there
    return Runs.YES if fits else Runs.NO


def _family(number: int) -> int:
    return _RENAMED.get(number, number) // 10


def _runs_on_amd(code: GpuArchitecture, gpu: GpuArchitecture) -> Runs:
    if code.processor == SPIRV:
        return Runs.YES
    if gpu.processor != code.processor and gpu.processor not in _GENERIC.get(code.processor, ()):
        return Runs.NO
    there = {feature[:-1]: feature for feature in gpu.features}
    asked = [there.get(feature[:-1]) == feature for feature in code.features if feature[:-1] in there]
    if not all(asked):
        return Runs.NO
    return Runs.YES if len(asked) == len(code.features) else Runs.UNKNOWN


def best(answers: Iterable[Runs]) -> Runs:
    """Whether at least one of several images runs."""
    found = set(answers)
    return next((each for each in (Runs.YES, Runs.UNKNOWN) if each in found), Runs.NO)


def worst(answers: Iterable[Runs]) -> Runs:
    """Whether all of several modules run; NO for an empty list."""
    found = set(answers) or {Runs.NO}
    return next((each for each in (Runs.NO, Runs.UNKNOWN) if each in found), Runs.YES)


def module_runs(module: GpuModule, gpu: GpuArchitecture, driver: int | None = None) -> Runs:
    """Whether one of the images of a module runs on a GPU, for every combination of AMD features that it does not name.

    Args:
        driver: NVIDIA driver branch, which must compile modules that run as PTX only; None to ignore the driver.
    """
    found = {best(runs_on(name, each) for name in module.architectures) for each in _feature_variants(gpu)}
    answer = found.pop() if len(found) == 1 else Runs.UNKNOWN
    if answer is not Runs.YES or driver is None or not by_ptx_alone(module, gpu):
        return answer
    compiled = None if module.ptx_version is None else compiles(module.ptx_version, driver)
    return Runs.UNKNOWN if compiled is None else Runs.YES if compiled else Runs.NO


def by_ptx_alone(module: GpuModule, gpu: GpuArchitecture) -> bool:
    """Whether all images of a module that run on a GPU are PTX."""
    return all(name.startswith("compute_") for name in module.architectures if runs_on(name, gpu) is not Runs.NO)


def _feature_variants(gpu: GpuArchitecture) -> Iterator[GpuArchitecture]:
    """The GPU with every combination of the features that it does not name."""
    if gpu.kind != "gfx":
        yield gpu
        return
    told = {feature[:-1] for feature in gpu.features}
    choices = [(name + "+", name + "-") for name in ("sramecc", "xnack") if name not in told]
    for chosen in itertools.product(*choices):
        yield replace(gpu, features=tuple(sorted((*gpu.features, *chosen))))


def oldest_ptx(code: DeviceImages, gpu: GpuArchitecture) -> str | None:
    """The oldest PTX version among the modules that run on a GPU as PTX only."""
    found = [m.ptx_version for m in code.modules if module_runs(m, gpu) is Runs.YES and by_ptx_alone(m, gpu)]
    told = (version for version in found if version is not None)
    return min(told, key=lambda version: [int(part) for part in version.split(".")], default=None)


def code_runs(code: DeviceImages, gpu: GpuArchitecture, driver: int | None = None) -> Runs:
    """Whether any module of a file runs on a GPU. NO if the runtime reports "no kernel image is available for execution
    on the device" for each. Do not call this for a file without device code.

    If no linked module runs, the driver links all relocatable ones again (CUDA Compiler Driver NVCC, "JIT Object
    Linking", https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/index.html#jit-linking-of-code).

    Args:
        driver: as for `module_runs`.
    """
    parts = [module_runs(module, gpu, driver) for module in code.modules if module.relocatable]
    found = best(
        (*(module_runs(module, gpu, driver) for module in code.modules if not module.relocatable), worst(parts))
    )
    return Runs.UNKNOWN if found is Runs.NO and code.unread is not None else found
