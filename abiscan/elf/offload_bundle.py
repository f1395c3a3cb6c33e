"""Bundles of code objects for AMD's GPUs, as clang embeds them in HIP programs: their tables, and never the code.

The table of a bundle is a magic text, a count, and for each entry offset, size and target; a compressed bundle is a
header and one stream of zlib or zstd (https://clang.llvm.org/docs/ClangOffloadBundler.html, "Bundled Code Object File
Layout", "Compressed Code Object Bundle").
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from abiscan import zstd
from abiscan.model.gpu_architecture import SPIRV
from abiscan.model.limits import MAX_DEVICE_IMAGES

if TYPE_CHECKING:
    from abiscan.elf.image import Buffer

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
_ZLIB, _ZSTD = 0, 1
# By version: what stands behind the magic, the version and the method.
_COMPRESSED_HEADERS = {1: struct.Struct("<4xHHIQ"), 2: struct.Struct("<4xHHIIQ"), 3: struct.Struct("<4xHHQQQ")}
_ENTRY = struct.Struct("<QQQ")
# A target such as `hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-` has less than 100 characters.
_MAX_TARGET = 256
_MAX_TARGETS = 256
# A table of so many targets takes less.
_TABLE = len(MAGIC) + 8 + _MAX_TARGETS * (_ENTRY.size + _MAX_TARGET)
_CHUNK, _PAGE = 1 << 16, 1 << 12
# zstd gives nothing before a whole block is in: 128 KiB, or what the encoder's window holds.
_MAX_COMPRESSED_READ = 1 << 22


class BundleError(ValueError):
    """What follows in a section cannot be read; the text says why."""


def read_bundles(buffer: Buffer, start: int, end: int) -> Iterator[tuple[tuple[str, ...], bool]]:
    """(GPU targets, whether it is compressed) of each bundle in these bytes of a section, in their order.

    Raises:
        BundleError: something else stands there, or what a bundle is compressed with is not here. What came before is
            whole.
    """
    at, budget = start, MAX_DEVICE_IMAGES
    while True:
        at = _next(buffer, at, end)
        if at >= end:
            return
        if buffer[at : at + 4] == COMPRESSED_MAGIC:
            table, at = _unpacked(buffer, at, end)
            targets, _ = _targets(table, 0, len(table))
            yield targets, True
        else:
            targets, behind = _targets(buffer, at, end)
            yield targets, False
            at = max(behind, at + len(MAGIC))
        budget -= len(targets) + 1
        if budget < 0:
            raise BundleError(f"more than {MAX_DEVICE_IMAGES:,} images")


def _next(buffer: Buffer, at: int, end: int) -> int:
    """Where the next bundle begins, behind what fills the page of the one before; `end` where none does."""
    places = [place for magic in (MAGIC, COMPRESSED_MAGIC) if (place := buffer.find(magic, at, end)) >= 0]
    found = min(places, default=end)
    gap = buffer[at : min(found, at + _CHUNK)]
    if gap.strip(b"\0") or found - at > _CHUNK:
        raise BundleError("what is no bundle of clang's stands among them")
    return found


def _targets(table: Buffer, at: int, end: int) -> tuple[tuple[str, ...], int]:
    """The GPU targets of a bundle, and where the last of its code objects ends."""
    place = at + len(MAGIC)
    if place + 8 > end or table[at:place] != MAGIC:
        raise BundleError("a bundle ends within its table")
    (count,) = struct.unpack_from("<Q", table, place)
    if count > _MAX_TARGETS:
        raise BundleError(f"a bundle of {count:,} targets")
    place += 8
    found: list[str] = []
    behind = place
    for _ in range(count):
        if place + _ENTRY.size > end:
            raise BundleError("a bundle ends within its table")
        offset, size, length = _ENTRY.unpack_from(table, place)
        place += _ENTRY.size
        if length > _MAX_TARGET or place + length > end:
            raise BundleError("a bundle ends within its table")
        target = _gpu(bytes(table[place : place + length]).decode("ascii", "replace"))
        place += length
        behind = max(behind, place, at + offset + size)
        if target is not None and size:
            found.append(target)
    return tuple(found), min(behind, end)


def _gpu(target: str) -> str | None:
    """`gfx90a:xnack+` of `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`; None for what runs on the host."""
    if not target.startswith("hip"):
        return None
    at = target.rfind("-gfx")
    if at >= 0:
        return target[at + 1 :]
    return SPIRV if target.endswith(f"-{SPIRV}") else None


def _unpacked(buffer: Buffer, at: int, end: int) -> tuple[bytes, int]:
    """The beginning of a compressed bundle, and where what follows it begins."""
    if at + 8 > end:
        raise BundleError("a compressed bundle ends within its header")
    version, method = struct.unpack_from("<4xHH", buffer, at)
    header = _COMPRESSED_HEADERS.get(version)
    if header is None or method not in (_ZLIB, _ZSTD):
        raise BundleError(f"a compressed bundle of an unknown version ({version}) or method ({method})")
    if at + header.size > end:
        raise BundleError("a compressed bundle ends within its header")
    # Version 1 does not tell its size.
    size = header.unpack_from(buffer, at)[2] if version > 1 else end - at
    if size < header.size or at + size > end:
        raise BundleError("a compressed bundle ends beyond its section")
    table = _head(buffer, at + header.size, at + size, method)
    return table, at + size if version > 1 else _aligned(buffer, at, end)


def _aligned(buffer: Buffer, at: int, end: int) -> int:
    """Where the next bundle begins: each that a compiler emits is aligned to a page."""
    place = at
    while place >= 0:
        place = buffer.find(COMPRESSED_MAGIC, place + 1, end)
        if (place - at) % _PAGE == 0:
            return place
    return end


def _head(buffer: Buffer, at: int, end: int, method: int) -> bytes:
    """What a compressed stream begins with, _TABLE bytes at most."""
    stream: Any
    try:
        stream = zlib.decompressobj() if method == _ZLIB else zstd.decompressor()
    except LookupError as error:
        raise BundleError(f"a bundle holds {error}") from None
    found = b""
    end = min(end, at + _MAX_COMPRESSED_READ)
    try:
        while at < end and len(found) < _TABLE and not stream.eof:
            found += stream.decompress(buffer[at : at + _CHUNK], _TABLE - len(found))
            at += _CHUNK
    except zstd.errors(zlib.error) as error:
        raise BundleError(f"a compressed bundle is damaged: {error}") from None
    return found
