"""NVIDIA's fat binaries: containers of device code, of which only the headers are read.

The format is undocumented. What stands here agrees with cuobjdump 13.5 on files of nvcc 11.8 to 13.2. A container is a
header (magic, version, size of the header, size of the payload) and a payload of entries; an entry is a header and an
image::

    0  u16 kind      8  u64 size of the image with its padding    24  u16 minor, u16 major version of the code
    4  u32 size of the header                                     28  u32 architecture: X * 10 + Y
                                                                  40  u64 flags

Containers of .nv_fatbin are what the runtime loads; those of __nv_relfatbin (`nvcc -rdc=true`) were linked into one.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.model.device_code import DeviceCode
from abiscan.model.limits import MAX_DEVICE_IMAGES

if TYPE_CHECKING:
    from abiscan.elf.image import Buffer

MAGIC = 0xBA55ED50
_MAGIC_BYTES = MAGIC.to_bytes(4, "little")
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQ8xHHI8xQ")
# Of the header of an entry, this much must be there.
_LEAST_HEADER = _ENTRY.size
_PTX, _ELF, _LTO_IR = 1, 2, 8
_KINDS = {
    _PTX: ("compute", DeviceCode.PTX),
    _ELF: ("sm", DeviceCode.MACHINE_CODE),
    _LTO_IR: ("lto", DeviceCode.LTO_IR),
}
# LZ4 (nvcc up to 12.x, and -compress-mode=speed) and zstd.
_COMPRESSED = 0x2000 | 0x8000
_ARCHITECTURE_SPECIFIC, _FAMILY_SPECIFIC = 1 << 20, 1 << 21
# No alignment puts more than this between two containers.
_MAX_GAP = 4096


class Entry(Struct, frozen=True):
    """The header of one image.

    Attributes:
        code: None where nobody has told what images of its kind are.
        version: of the PTX ISA, or of the format of machine code.
    """

    architecture: str
    code: DeviceCode | None
    compressed: bool
    version: tuple[int, int]


class ContainerError(ValueError):
    """What follows in a section cannot be read; the text says why."""


def read_containers(buffer: Buffer, start: int, end: int) -> Iterator[tuple[Entry, ...]]:
    """The entries of each container in these bytes of a section, in their order.

    Raises:
        ContainerError: something else stands there. What came before is whole.
    """
    at, budget = start, MAX_DEVICE_IMAGES
    while at < end:
        found = buffer.find(_MAGIC_BYTES, at, min(end, at + _MAX_GAP))
        stop = found if found >= 0 else min(end, at + _MAX_GAP)
        if buffer[at:stop].strip(b"\0") or (found < 0 and stop < end):
            raise ContainerError("what is no container of NVIDIA's stands among them")
        if found < 0:
            return
        if found + _CONTAINER.size > end:
            raise ContainerError("the section ends within a container")
        _magic, version, header, payload = _CONTAINER.unpack_from(buffer, found)
        if version != 1 or header < _CONTAINER.size or found + header + payload > end:
            raise ContainerError("a container ends beyond its section, or is of an unknown version")
        at = found + header + payload
        entries = tuple(_entries(buffer, found + header, at))
        budget -= len(entries) + 1
        if budget < 0:
            raise ContainerError(f"more than {MAX_DEVICE_IMAGES:,} images")
        yield entries


def _entries(buffer: Buffer, at: int, end: int) -> Iterator[Entry]:
    while at < end:
        if at + _LEAST_HEADER > end:
            raise ContainerError("a container ends within the header of an image")
        kind, _, header, size, minor, major, number, flags = _ENTRY.unpack_from(buffer, at)
        if header < _LEAST_HEADER or at + header + size > end:
            raise ContainerError("an image ends beyond its container")
        prefix, code = _KINDS.get(kind, (f"kind {kind}", None))
        suffix = "a" if flags & _ARCHITECTURE_SPECIFIC else "f" if flags & _FAMILY_SPECIFIC else ""
        yield Entry(f"{prefix}_{number}{suffix}", code, bool(flags & _COMPRESSED), (major, minor))
        at += header + size
