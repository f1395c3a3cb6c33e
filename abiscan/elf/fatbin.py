"""NVIDIA fat binaries: containers of device code, of which only the headers are read.

The format is undocumented. This description agrees with cuobjdump 13.5 on files of nvcc 11.8 to 13.2. A container is a
header (magic, version, size of the header, size of the payload) and a payload of entries; an entry is a header and an
image::

    0  u16 kind      8  u64 size of the image with its padding    24  u16 minor, u16 major version of the code
    4  u32 size of the header                                     28  u32 architecture: X * 10 + Y
                                                                  40  u64 flags

The runtime loads the containers of .nv_fatbin; those of __nv_relfatbin (`nvcc -rdc=true`) were linked into one.
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
# Minimum size of a container header and of an entry header.
CONTAINER_HEADER, LEAST_HEADER = _CONTAINER.size, _ENTRY.size
# A container usually begins where the previous one ends, with its first image after a header of this size.
_BEGINS = CONTAINER_HEADER + LEAST_HEADER
# Start of the containers of all known compilers: magic, version 1, a header of 16 bytes.
BEGINNING = _CONTAINER.pack(MAGIC, 1, _CONTAINER.size, 0)[:8]
_PTX, _ELF, _LTO_IR = 1, 2, 8
_KINDS = {_PTX: ("compute", DeviceCode.PTX), _ELF: ("sm", DeviceCode.MACHINE_CODE), _LTO_IR: ("lto", DeviceCode.LTO_IR)}
# LZ4 (nvcc up to 12.x, and -compress-mode=speed) and zstd.
_COMPRESSED = 0x2000 | 0x8000
_ARCHITECTURE_SPECIFIC, _FAMILY_SPECIFIC = 1 << 20, 1 << 21
# The fields of an entry header that describe the image: a file has thousands of images but few distinct descriptions.
_APART = struct.Struct("<4sIQ8x24s")
_HEAD = struct.Struct("<H2xHHI8xQ")
Head = bytes
# Larger than any alignment gap between two containers; usually the first is enough.
_GAPS = (16, 4096)


class FatbinEntry(Struct, frozen=True):
    """The header of one image.

    Attributes:
        code: None for an unknown kind.
        version: of the PTX ISA, or of the format of machine code.
    """

    architecture: str
    code: DeviceCode | None
    compressed: bool
    version: tuple[int, int]


class ContainerError(ValueError):
    """The rest of a section cannot be read; the text is the reason."""


def read_containers(read: Read, start: int, end: int) -> Iterator[tuple[Head, ...]]:
    """The images of each container in a range of a section, in order; decode them with `read_entry`.

    Args:
        read: reads the file, at least up to `end`.

    Raises:
        ContainerError: there is something else. Containers before it are complete.
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


def read_entry(head: Head) -> FatbinEntry:
    """Decode the header of an image."""
    kind, minor, major, number, flags = _HEAD.unpack(head)
    prefix, code = _KINDS.get(kind, (f"kind {kind}", None))
    suffix = "a" if flags & _ARCHITECTURE_SPECIFIC else "f" if flags & _FAMILY_SPECIFIC else ""
    return FatbinEntry(f"{prefix}_{number}{suffix}", code, bool(flags & _COMPRESSED), (major, minor))


def _next(read: Read, at: int, end: int) -> int:
    """The start of the next container after zeros; `end` if there is none."""
    for gap in _GAPS:
        window = read(min(end - at, gap), at)
        found = window.find(_MAGIC_BYTES)
        if window[: len(window) if found < 0 else found].strip(b"\0"):
            continue  # the shorter window may end inside the next magic
        if found >= 0:
            return at + found
        if at + gap >= end:
            return end
    raise ContainerError("one of them is not an NVIDIA container")


def sizes_at(data: bytes, at: int, *, container: bool) -> tuple[int, int] | None:
    """(header size, payload size) of a container, or of an image, at an offset; None if there is none, or `data` ends
    before."""
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
    """The headers of the images between two offsets.

    Args:
        data: the start of the first header, if it was already read.
        budget: number of images that may follow.
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
