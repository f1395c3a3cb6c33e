"""Bundles of code objects for AMD GPUs that clang embeds in HIP programs: their tables, never the code.

The table of a bundle is a magic text, a count, and offset, size and target of each entry; a compressed bundle is a
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
    from abiscan.elf.image import Image
    from abiscan.file_buffer import Buffer

MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED_MAGIC = b"CCOB"
_MAGICS = (MAGIC, COMPRESSED_MAGIC)
_ZLIB, _ZSTD = 0, 1
# By version: the fields after magic, version and method.
_COMPRESSED_HEADERS = {1: struct.Struct("<4xHHIQ"), 2: struct.Struct("<4xHHIIQ"), 3: struct.Struct("<4xHHQQQ")}
_ENTRY = struct.Struct("<QQQ")
# A target such as `hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-` has fewer than 100 characters.
_MAX_TARGET = 256
_MAX_TARGETS = 256
# Upper bound of the size of a table with this many targets.
MAX_TABLE = len(MAGIC) + 8 + _MAX_TARGETS * (_ENTRY.size + _MAX_TARGET)
_CHUNK, _PAGE, _STEP = 1 << 16, 1 << 12, 1 << 5
# zstd has no output before a whole block is read: 128 KiB, or the encoder's window.
_MAX_COMPRESSED_READ = 1 << 22


class BundleError(ValueError):
    """The rest of a section cannot be read; the text is the reason."""


def read_bundles(buffer: Buffer | Image, start: int, end: int) -> Iterator[tuple[tuple[str, ...], bool]]:
    """(GPU targets, whether it is compressed) of each bundle in a range of a section, in order.

    Raises:
        BundleError: there is something else, or the decompressor is not installed. Bundles before it are complete.
    """
    at, budget = start, MAX_DEVICE_IMAGES
    while True:
        at = _next(buffer, at, end)
        if at >= end:
            return
        if buffer[at : at + 4] == COMPRESSED_MAGIC:
            table, at = _unpacked(buffer, at, end)
            targets, _, _ = _targets(table, 0, len(table))
            yield targets, True
        else:
            targets, _, behind = _targets(buffer, at, end)
            yield targets, False
            at = max(behind, at + len(MAGIC))
        budget -= len(targets) + 1
        if budget < 0:
            raise BundleError(f"more than {MAX_DEVICE_IMAGES:,} images")


def _next(buffer: Buffer | Image, at: int, end: int) -> int:
    """The start of the next bundle after page padding; `end` if there is none."""
    # Read no further than the next magic: the images after it may be missing in `buffer`.
    for place in range(at, min(end, at + _CHUNK + 1), _STEP):
        window = buffer[place : min(place + _STEP, end)]
        zeros = len(window) - len(window.lstrip(b"\0"))
        if zeros < len(window):
            found = place + zeros
            if found - at <= _CHUNK and buffer[found : min(end, found + len(MAGIC))].startswith(_MAGICS):
                return found
            break
    else:
        if end - at <= _CHUNK:
            return end
    raise BundleError("one of them is not a clang offload bundle")


def table_at(data: bytes, at: int) -> tuple[int, int] | None:
    """(end of the table of contents, end of the last code object) of a bundle at an offset; None if there is none, or
    `data` ends within its table."""
    try:
        _, table, behind = _targets(data, at, len(data), clip=False)
    except BundleError:
        return None
    return table, behind


def compressed_size(data: bytes, at: int) -> int | None:
    """The size of a compressed bundle at an offset; None if there is none, or its header lacks the size."""
    if data[at : at + 4] != COMPRESSED_MAGIC or at + 8 > len(data):
        return None
    (version,) = struct.unpack_from("<4xH", data, at)
    header = _COMPRESSED_HEADERS.get(version)
    if header is None or version == 1 or at + header.size > len(data):
        return None
    size: int = header.unpack_from(data, at)[2]
    return size


def _targets(table: Buffer | Image, at: int, end: int, *, clip: bool = True) -> tuple[tuple[str, ...], int, int]:
    """The GPU targets of a bundle, the end of its table, and the end of its last code object.

    Args:
        clip: whether to limit the end to `end`.
    """
    place = at + len(MAGIC)
    if place + 8 > end or table[at:place] != MAGIC:
        raise BundleError("a bundle ends within its table")
    (count,) = struct.unpack("<Q", table[place : place + 8])
    if count > _MAX_TARGETS:
        raise BundleError(f"a bundle of {count:,} targets")
    place += 8
    found: list[str] = []
    behind = place
    for _ in range(count):
        if place + _ENTRY.size > end:
            raise BundleError("a bundle ends within its table")
        offset, size, length = _ENTRY.unpack(table[place : place + _ENTRY.size])
        place += _ENTRY.size
        if length > _MAX_TARGET or place + length > end:
            raise BundleError("a bundle ends within its table")
        target = _gpu(bytes(table[place : place + length]).decode("ascii", "replace"))
        place += length
        behind = max(behind, place, at + offset + size)
        if target is not None and size:
            found.append(target)
    return tuple(found), place, min(behind, end) if clip else behind


def _gpu(target: str) -> str | None:
    """`gfx90a:xnack+` for `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+`; None for host code."""
    if not target.startswith("hip"):
        return None
    at = target.rfind("-gfx")
    if at >= 0:
        return target[at + 1 :]
    return SPIRV if target.endswith(f"-{SPIRV}") else None


def _unpacked(buffer: Buffer | Image, at: int, end: int) -> tuple[bytes, int]:
    """The start of a compressed bundle, decompressed, and the offset after the bundle."""
    if at + 8 > end:
        raise BundleError("a compressed bundle ends within its header")
    version, method = struct.unpack("<4xHH", buffer[at : at + 8])
    header = _COMPRESSED_HEADERS.get(version)
    if header is None or method not in (_ZLIB, _ZSTD):
        raise BundleError(f"a compressed bundle of an unknown version ({version}) or method ({method})")
    if at + header.size > end:
        raise BundleError("a compressed bundle ends within its header")
    # Version 1 has no size.
    size = header.unpack(buffer[at : at + header.size])[2] if version > 1 else end - at
    if size < header.size or at + size > end:
        raise BundleError("a compressed bundle ends beyond its section")
    table = _head(buffer, at + header.size, at + size, method)
    return table, at + size if version > 1 else _aligned(buffer, at, end)


def _aligned(buffer: Buffer | Image, at: int, end: int) -> int:
    """The start of the next bundle: compilers align each to a page."""
    pages = range(at + _PAGE, end, _PAGE)
    return next((place for place in pages if buffer[place : min(place + 4, end)] == COMPRESSED_MAGIC), end)


def _head(buffer: Buffer | Image, at: int, end: int, method: int) -> bytes:
    """The first MAX_TABLE bytes, at most, of a compressed stream."""
    stream: Any
    try:
        stream = zlib.decompressobj() if method == _ZLIB else zstd.decompressor()
    except LookupError as error:
        raise BundleError(f"a bundle holds {error}") from None
    found = b""
    end = min(end, at + _MAX_COMPRESSED_READ)
    try:
        while at < end and len(found) < MAX_TABLE and not stream.eof:
            found += stream.decompress(buffer[at : at + _CHUNK], MAX_TABLE - len(found))
            at += _CHUNK
    except zstd.errors(zlib.error) as error:
        raise BundleError(f"a compressed bundle is damaged: {error}") from None
    return found
