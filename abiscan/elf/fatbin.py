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
    from abiscan.elf.scattered_reads import Read

MAGIC = 0xBA55ED50
_MAGIC_BYTES = MAGIC.to_bytes(4, "little")
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQ8xHHI8xQ")
# What a container, and an entry, takes at least; of its header this much must be there.
CONTAINER_HEADER, LEAST_HEADER = _CONTAINER.size, _ENTRY.size
# A container mostly begins where the one before ends, and its first image behind a header of this size.
_BEGINS = CONTAINER_HEADER + LEAST_HEADER
# How the containers of all known compilers begin: magic, version 1, a header of 16 bytes.
BEGINNING = _CONTAINER.pack(MAGIC, 1, _CONTAINER.size, 0)[:8]
_PTX, _ELF, _LTO_IR = 1, 2, 8
_KINDS = {
    _PTX: ("compute", DeviceCode.PTX),
    _ELF: ("sm", DeviceCode.MACHINE_CODE),
    _LTO_IR: ("lto", DeviceCode.LTO_IR),
}
# LZ4 (nvcc up to 12.x, and -compress-mode=speed) and zstd.
_COMPRESSED = 0x2000 | 0x8000
_ARCHITECTURE_SPECIFIC, _FAMILY_SPECIFIC = 1 << 20, 1 << 21
# What tells an image, as it stands in its header: a file has thousands of images and some dozens of these.
_APART = struct.Struct("<4sIQ8x24s")
_HEAD = struct.Struct("<H2xHHI8xQ")
Head = bytes
# No alignment puts more than this between two containers; mostly it is less than the first.
_GAPS = (16, 4096)


class FatbinEntry(Struct, frozen=True):
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


def read_containers(read: Read, start: int, end: int) -> Iterator[tuple[Head, ...]]:
    """The images of each container in these bytes of a section, in their order; `entry_of` says what each is.

    Args:
        read: of the file, up to `end` at least.

    Raises:
        ContainerError: something else stands there. What came before is whole.
    """
    at, budget = start, MAX_DEVICE_IMAGES
    while at < end:
        data = read(_BEGINS, at)
        if not data.startswith(_MAGIC_BYTES):
            at = _next(read, at, end)
            if at >= end:
                return
            data = read(_BEGINS, at)
        if at + CONTAINER_HEADER > end or len(data) < CONTAINER_HEADER:
            raise ContainerError("the section ends within a container")
        _magic, version, header, payload = _CONTAINER.unpack_from(data)
        if version != 1 or header < CONTAINER_HEADER or at + header + payload > end:
            raise ContainerError("a container ends beyond its section, or is of an unknown version")
        first = at + header
        at = first + payload
        heads = _heads(read, first, at, data[header:] if header == CONTAINER_HEADER else b"", budget)
        budget -= len(heads) + 1
        yield heads


def entry_of(head: Head) -> FatbinEntry:
    """What the header of an image says."""
    kind, minor, major, number, flags = _HEAD.unpack(head)
    prefix, code = _KINDS.get(kind, (f"kind {kind}", None))
    suffix = "a" if flags & _ARCHITECTURE_SPECIFIC else "f" if flags & _FAMILY_SPECIFIC else ""
    return FatbinEntry(f"{prefix}_{number}{suffix}", code, bool(flags & _COMPRESSED), (major, minor))


def _next(read: Read, at: int, end: int) -> int:
    """Where the next container begins, behind zeros; `end` where none does."""
    for gap in _GAPS:
        window = read(min(end - at, gap), at)
        found = window.find(_MAGIC_BYTES)
        if window[: len(window) if found < 0 else found].strip(b"\0"):
            continue  # in the shorter window a part of the next one's magic may stand
        if found >= 0:
            return at + found
        if at + gap >= end:
            return end
    raise ContainerError("one of them is not an NVIDIA container")


def sizes_at(data: bytes, at: int, *, container: bool) -> tuple[int, int] | None:
    """(size of the header, size of what it is of) of a container, or of an image, that begins here; None where
    neither does, or `data` ends before."""
    if container:
        if at + CONTAINER_HEADER > len(data):
            return None
        magic, version, header, size = _CONTAINER.unpack_from(data, at)
        return (header, size) if magic == MAGIC and version == 1 and header >= CONTAINER_HEADER else None
    if at + LEAST_HEADER > len(data):
        return None
    _kind, _, header, size, *_ = _ENTRY.unpack_from(data, at)
    return (header, size) if header >= LEAST_HEADER else None


def _heads(read: Read, at: int, end: int, data: bytes, budget: int) -> tuple[Head, ...]:
    """The heads of the images between two offsets.

    Args:
        data: what the first begins with, as far as it was read.
        budget: images that may yet follow.
    """
    found: list[Head] = []
    append, apart, least = found.append, _APART.unpack, LEAST_HEADER
    last = end - least
    try:
        for _ in range(budget):
            if at >= end:
                return tuple(found)
            if at > last:
                raise ContainerError("a container ends within the header of an image")
            kind, header, size, rest = apart(data or read(least, at))
            at += header + size
            if header < least or at > end:
                raise ContainerError("an image ends beyond its container")
            append(kind + rest)
            data = b""
    except struct.error:
        raise ContainerError("the file became shorter while it was read") from None
    raise ContainerError(f"more than {MAX_DEVICE_IMAGES:,} images")
