"""Device code of a file: GPU images, and the modules whose alternatives they are."""

from __future__ import annotations

import enum

from msgspec import Struct


class DeviceCode(enum.StrEnum):
    """Form of a GPU image."""

    MACHINE_CODE = "machine-code"
    PTX = "ptx"
    """NVIDIA's virtual instruction set, which the driver compiles for the present GPU."""
    LTO_IR = "lto-ir"
    """Input of NVIDIA's device linker (LTO IR); no driver runs it directly."""


class GpuImage(Struct, frozen=True):
    """The images of one architecture and form.

    Attributes:
        architecture: `sm_90`, `sm_90a`, `sm_100f`; `compute_90` for PTX; `lto_90` for LTO IR; `gfx90a:xnack+` for AMD.
        images: number of images; compressed: number of compressed ones among them.
        relocatable: whether they are input of NVIDIA's device linker (`nvcc -rdc=true`). The driver links them again if
            no linked image fits the GPU.
        ptx_version: the newest PTX ISA version among them (`8.4`); None if they are not PTX.
    """

    architecture: str
    code: DeviceCode
    images: int
    compressed: int = 0
    relocatable: bool = False
    ptx_version: str | None = None


class GpuModule(Struct, frozen=True):
    """Modules with the same set of images. The runtime loads a module (a container in .nv_fatbin, a bundle in
    .hip_fatbin) as a whole, from one of its images.

    Attributes:
        architectures: distinct `GpuImage.architecture` of its images.
        count: number of modules of the file with exactly these images.
        relocatable: see `GpuImage`; such a module is part of a linked one.
        ptx_version: the newest PTX ISA version among its images; None if none of them is PTX.
    """

    architectures: tuple[str, ...]
    count: int
    relocatable: bool = False
    ptx_version: str | None = None


class DeviceImages(Struct, frozen=True):
    """All device code of a file.

    Attributes:
        images, modules: ordered by architecture; empty if there are none.
        unread: the reason why the lists may be incomplete; None if they are complete.
    """

    images: tuple[GpuImage, ...] = ()
    modules: tuple[GpuModule, ...] = ()
    unread: str | None = None
