"""Which device code a file carries, from the headers of its embedded images; of what is compressed no more than a table
of contents is unpacked.

Sections: .nv_fatbin and __nv_relfatbin of nvcc and of clang's CUDA mode, .hip_fatbin of HIP.
"""

from __future__ import annotations

from collections import Counter

from abiscan.elf.image import Image
from abiscan.elf.sections import named_sections, read_sections
from abiscan.model.device_code import DeviceCode, DeviceImages, GpuImage, GpuModule

_CUDA = {b".nv_fatbin": False, b"__nv_relfatbin": True}
_HIP = b".hip_fatbin"
# Of what these hold, nothing is read but here.
SECTIONS = frozenset((*_CUDA, _HIP))

# (architecture, code, relocatable) -> (images, compressed, newest version of the code).
_Key = tuple[str, DeviceCode, bool]


class _Found:
    """What was read so far."""

    def __init__(self) -> None:
        self.images: Counter[_Key] = Counter()
        self.compressed: Counter[_Key] = Counter()
        self.versions: dict[_Key, tuple[int, int]] = {}
        self.modules: Counter[tuple[bool, tuple[str, ...]]] = Counter()
        self.unread: list[str] = []

    def add_module(self, names: list[str], count: int, *, relocatable: bool) -> None:
        if names:
            self.modules[relocatable, tuple(sorted(set(names), key=_order))] += count


def device_images(image: Image) -> DeviceImages:
    """All device code of a file; where something stops the reading, what was read and why."""
    found = _Found()
    if not read_sections(image):
        return DeviceImages(unread="it has no section headers, which say where device code lies")
    for name, header in named_sections(image):
        start, end = header.offset, min(header.offset + header.size, image.size)
        try:
            if name in _CUDA:
                _cuda(image, start, end, found, relocatable=_CUDA[name])
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
            ptx_version=".".join(map(str, found.versions[key])) if key[1] is DeviceCode.PTX else None,
        )
        for key, count in found.images.items()
    )
    modules = (GpuModule(names, count, relocatable) for (relocatable, names), count in found.modules.items())
    return DeviceImages(
        images=tuple(sorted(images, key=lambda each: (*_order(each.architecture), each.relocatable))),
        modules=tuple(sorted(modules, key=lambda each: (each.relocatable, [*map(_order, each.architectures)]))),
        unread="; ".join(dict.fromkeys(found.unread)) or None,
    )


def _order(name: str) -> tuple[str, int, str]:
    """`sm_90` before `sm_100`."""
    return name.rstrip("0123456789abcdef"), len(name.rstrip("af")), name


def _cuda(image: Image, start: int, end: int, found: _Found, *, relocatable: bool) -> None:
    from abiscan.elf.fatbin import Head, entry_of, read_containers

    containers: Counter[tuple[Head, ...]] = Counter()
    try:
        # What an image is, is told once for each kind of container and not for each container.
        containers.update(read_containers(image, start, end))
    finally:
        for heads, count in containers.items():
            names = []
            for entry in map(entry_of, heads):
                if entry.code is None:
                    found.unread.append(f"an image of an unknown kind ({entry.architecture})")
                    continue
                key = entry.architecture, entry.code, relocatable
                found.images[key] += count
                found.compressed[key] += entry.compressed * count
                found.versions[key] = max(entry.version, found.versions.get(key, (0, 0)))
                names.append(entry.architecture)
            found.add_module(names, count, relocatable=relocatable)


def _hip(image: Image, start: int, end: int, found: _Found) -> None:
    from abiscan.elf.offload_bundle import read_bundles

    for targets, compressed in read_bundles(image, start, end):
        for target in targets:
            key = target, DeviceCode.MACHINE_CODE, False
            found.images[key] += 1
            found.compressed[key] += compressed
        found.add_module(list(targets), 1, relocatable=False)
