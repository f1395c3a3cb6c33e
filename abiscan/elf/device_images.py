"""Device code of a file, from the headers of its embedded images; of compressed ones only the table of contents is
decompressed.

Sections: .nv_fatbin and __nv_relfatbin of nvcc and of clang's CUDA mode, .hip_fatbin of HIP.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from abiscan.elf.image import Image
from abiscan.elf.sections import named_sections, read_sections
from abiscan.model.device_code import DeviceCode, DeviceImages, GpuImage, GpuModule

if TYPE_CHECKING:
    from abiscan.elf.scattered_reads import Read

# Section -> whether its code is relocatable.
CUDA_SECTIONS = {b".nv_fatbin": False, b"__nv_relfatbin": True}
_HIP = b".hip_fatbin"
# Sections that are read only here.
SECTIONS = frozenset((*CUDA_SECTIONS, _HIP))

# (architecture, code, relocatable), by which images, compressed ones and the newest code version are recorded.
_Key = tuple[str, DeviceCode, bool]


class _Found:
    """The images read so far."""

    def __init__(self) -> None:
        self.images: Counter[_Key] = Counter()
        self.compressed: Counter[_Key] = Counter()
        self.versions: dict[_Key, tuple[int, int]] = {}
        self.modules: Counter[tuple[bool, tuple[str, ...], tuple[int, int] | None]] = Counter()
        self.unread: list[str] = []

    def add_module(
        self, names: Iterable[str], count: int, ptx: tuple[int, int] | None = None, *, relocatable: bool = False
    ) -> None:
        listed = tuple(sorted(set(names), key=_order))
        if listed:
            self.modules[relocatable, listed, ptx] += count


def device_images(image: Image, path: str | os.PathLike[str] | None = None) -> DeviceImages:
    """Read all device code of a file; after an error, what was read and the reason.

    Args:
        path: path of the mapped file, if there is one.
    """
    found = _Found()
    if not read_sections(image):
        return DeviceImages(unread="it has no section headers, which locate device code")
    for name, header in named_sections(image):
        start, end = header.offset, min(header.offset + header.size, image.size)
        try:
            if name in CUDA_SECTIONS:
                from abiscan.elf.scattered_reads import scattered_reads

                with scattered_reads(image, path) as read:
                    _cuda(read, start, end, found, relocatable=CUDA_SECTIONS[name])
            elif name == _HIP:
                _hip(image, start, end, found)
        except ValueError as error:
            found.unread.append(f"{name.decode()}: {error}")
    images = (
        GpuImage(
            architecture=key[0],
            code=key[1],
            images=count,
            compressed=found.compressed[key],
            relocatable=key[2],
            ptx_version=_dotted(found.versions[key]) if key[1] is DeviceCode.PTX else None,
        )
        for key, count in found.images.items()
    )
    modules = (
        GpuModule(names, count, relocatable, None if ptx is None else _dotted(ptx))
        for (relocatable, names, ptx), count in sorted(found.modules.items(), key=lambda item: item[0][2] or (0, 0))
    )
    return DeviceImages(
        images=tuple(sorted(images, key=lambda each: (*_order(each.architecture), each.relocatable))),
        modules=tuple(sorted(modules, key=lambda each: (each.relocatable, [*map(_order, each.architectures)]))),
        unread="; ".join(dict.fromkeys(found.unread)) or None,
    )


def _dotted(version: tuple[int, int]) -> str:
    return ".".join(map(str, version))


def _order(name: str) -> tuple[str, int, str]:
    """Sort key: `sm_90` before `sm_100`."""
    return name.rstrip("0123456789abcdef"), len(name.rstrip("af")), name


def _cuda(read: Read, start: int, end: int, found: _Found, *, relocatable: bool) -> None:
    from abiscan.elf.fatbin import Head, read_containers, read_entry

    containers: Counter[tuple[Head, ...]] = Counter()
    try:
        # Entries are decoded once for each distinct container, not for each container.
        containers.update(read_containers(read, start, end))
    finally:
        for heads, count in containers.items():
            names, ptx = [], None
            for entry in map(read_entry, heads):
                if entry.code is None:
                    found.unread.append(f"an image of an unknown kind ({entry.architecture})")
                    continue
                key = entry.architecture, entry.code, relocatable
                found.images[key] += count
                found.compressed[key] += entry.compressed * count
                found.versions[key] = max(entry.version, found.versions.get(key, (0, 0)))
                names.append(entry.architecture)
                if entry.code is DeviceCode.PTX:
                    ptx = entry.version if ptx is None else max(ptx, entry.version)
            found.add_module(names, count, ptx, relocatable=relocatable)


def _hip(image: Image, start: int, end: int, found: _Found) -> None:
    from abiscan.elf.offload_bundle import read_bundles

    for targets, compressed in read_bundles(image, start, end):
        for target in targets:
            key = target, DeviceCode.MACHINE_CODE, False
            found.images[key] += 1
            found.compressed[key] += compressed
        found.add_module(targets, 1)
