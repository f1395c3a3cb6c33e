"""The device code that a file carries: images for GPUs, and the modules that they are the alternatives of."""

from __future__ import annotations

import enum

from msgspec import Struct


class DeviceCode(enum.StrEnum):
    """What an image is in."""

    MACHINE_CODE = "machine-code"
    PTX = "ptx"
    """NVIDIA's virtual instruction set, which the driver compiles for the GPU that it finds."""
    LTO_IR = "lto-ir"
    """What NVIDIA's linker for device code takes; no driver runs it as it stands."""


class GpuImage(Struct, frozen=True):
    """The images of one architecture and form.

    Attributes:
        architecture: `sm_90`, `sm_90a`, `sm_100f`; `compute_90` for PTX; `lto_90` for LTO IR; `gfx90a:xnack+` for AMD.
        images: how many there are; compressed: how many of them are compressed.
        relocatable: they are for NVIDIA's linker (`nvcc -rdc=true`), which has made other images of them; where none
            of those serves, the driver links these anew.
        ptx_version: the newest PTX ISA version among them (`8.4`); None where they are no PTX.
    """

    architecture: str
    code: DeviceCode
    images: int
    compressed: int = 0
    relocatable: bool = False
    ptx_version: str | None = None


class GpuModule(Struct, frozen=True):
    """The modules with one set of images: a module is what the runtime loads as a whole, out of one image of it (a
    container of .nv_fatbin, a bundle of .hip_fatbin).

    Attributes:
        architectures: of its images, as `GpuImage.architecture` has them, each once.
        count: how many modules of the file have exactly these.
        relocatable: see `GpuImage`; such a module is part of one that was linked.
        ptx_version: the newest PTX ISA version among its images; None where none of them is PTX.
    """

    architectures: tuple[str, ...]
    count: int
    relocatable: bool = False
    ptx_version: str | None = None


class DeviceImages(Struct, frozen=True):
    """All device code of a file.

    Attributes:
        images, modules: in the order of `architecture`; empty where there is none.
        unread: why what is told here may not be all; None where it is.
    """

    images: tuple[GpuImage, ...] = ()
    modules: tuple[GpuModule, ...] = ()
    unread: str | None = None
