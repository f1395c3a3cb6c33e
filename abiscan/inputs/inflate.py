"""Decompression with bounded output at every step: streams of bytes, and whole members."""

from __future__ import annotations

import functools
import importlib
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from abiscan import zstd
from abiscan.errors import UnreadableFile
from abiscan.inputs.artifact import Limits
from abiscan.inputs.byte_source import ByteSource, WatchedBytes
from abiscan.inputs.unpacked import Buffer, Unpacked
from abiscan.model.words import size_words

if TYPE_CHECKING:
    from abiscan.inputs.zips import ZipMember

# Maximum sizes of a read and of a piece of output: so much larger that honest data rarely reaches it, because the
# remaining input is copied then. ISA-L takes 0.44 of zlib's time this way, 0.49 with a limit of 32 KiB.
CHUNK_IN, CHUNK_OUT = 1 << 16, 1 << 20
# The largest dictionary of `xz -9` takes 65 MiB; a header may declare 4 GiB.
_XZ_MEMORY = 256 << 20


@functools.cache
def _inflater() -> Any:
    """The inflate module: ISA-L's if the extra `fast` is installed (half of zlib's time), otherwise zlib."""
    try:
        return importlib.import_module("isal.isal_zlib")
    except ImportError:
        return zlib


class _Deflate:
    """zlib's decompressor with the interface of those of bz2 and lzma."""

    def __init__(self, wbits: int) -> None:
        self._object = _inflater().decompressobj(wbits=wbits)
        self._full = False

    def decompress(self, data: bytes, limit: int) -> bytes:
        tail = self._object.unconsumed_tail
        out: bytes = self._object.decompress(tail + data if tail else data, limit)
        self._full = len(out) == limit
        return out

    @property
    def eof(self) -> bool:
        return bool(self._object.eof)

    @property
    def needs_input(self) -> bool:
        # All input is consumed and the output is full: the decompressor may have more in its window.
        return not self._full and not self._object.unconsumed_tail and not self._object.eof

    @property
    def unused_data(self) -> bytes:
        data: bytes = self._object.unused_data
        return data


def _bz2() -> Any:
    import bz2

    return bz2.BZ2Decompressor()


def _xz() -> Any:
    import lzma

    return lzma.LZMADecompressor(memlimit=_XZ_MEMORY)


# By first bytes (RFC 1952; bzip2; xz file format 1.1; RFC 8878).
STREAM_MAGICS: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"(\xb5/\xfd", "zstd"),
)
_STREAMS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: _Deflate(31),
    "bzip2": _bz2,
    "xz": _xz,
    "zstd": zstd.decompressor,
}
# Method numbers of zip (APPNOTE.TXT 6.3.10, 4.4.5).
_ZIP_METHODS: dict[int, Callable[[], Any]] = {8: lambda: _Deflate(-15), 12: _bz2, 93: zstd.decompressor}
_ZIP_METHOD_NAMES = {1: "Shrink", 6: "Implode", 9: "Deflate64", 14: "LZMA", 95: "XZ", 96: "JPEG", 98: "PPMd", 99: "AES"}


def stream_codec(head: bytes) -> str | None:
    """`gzip`, `bzip2`, `xz` or `zstd` if `head` starts such a stream; otherwise None."""
    return next((name for magic, name in STREAM_MAGICS if head.startswith(magic)), None)


def zip_method_error(method: int) -> str | None:
    """Why a zip member of this compression method cannot be unpacked; None if it can."""
    if method == 0 or method in _ZIP_METHODS:
        return None
    name = _ZIP_METHOD_NAMES.get(method)
    return f"packed with method {method}{f' ({name})' if name else ''}, which is not supported: unpack it first"


def _damage(error: Exception) -> str:
    text = str(error)
    return text if isinstance(error, LookupError) else f"damaged: {text[:1].lower()}{text[1:] or 'invalid data'}"


def _errors() -> tuple[type[Exception], ...]:
    # Each library raises its own; all of bz2's and some of lzma's are OSError, EOFError or ValueError.
    found: list[type[Exception]] = [zlib.error, OSError, EOFError, ValueError, LookupError]
    for module, name in (("isal.isal_zlib", "IsalError"), ("_lzma", "LZMAError")):
        error = getattr(sys.modules.get(module), name, None)
        if error is not None:
            found.append(error)
    return zstd.errors(*found)


def _pieces(decoder: Any, source: ByteSource, start: int, size: int) -> Iterator[bytes]:
    """The output of one compressed stream in `size` bytes at `start`, in pieces of at most CHUNK_OUT.

    Unused bytes of the last input are left in `decoder.unused_data`.
    """
    at, end = start, start + size
    while not decoder.eof:
        data = b""
        if decoder.needs_input:
            data = source.read_at(at, min(CHUNK_IN, end - at)) if at < end else b""
            at += len(data)
            if not data:
                raise EOFError("it ends in the middle of its compressed data")
        piece = decoder.decompress(data, CHUNK_OUT)
        if piece:
            yield piece


def stream(source: ByteSource, codec: str, display: str, limits: Limits) -> Iterator[bytes]:
    """Decompress a file (including concatenated streams), in pieces of at most CHUNK_OUT bytes.

    Raises:
        UnreadableFile: it is damaged, cut off, exceeds the limits, or its codec is not installed.
    """
    at = total = 0
    size = source.size
    try:
        while at < size:
            decoder = _STREAMS[codec]()
            taken = 0

            def count(start: int, end: int) -> None:
                nonlocal taken
                taken += end - start

            for piece in _pieces(decoder, WatchedBytes(source, count), at, size - at):
                total += len(piece)
                if total > limits.total:
                    raise UnreadableFile(
                        display, f"unpacks to more than {size_words(limits.total)}: not followed further"
                    )
                if total > limits.ratio_from and total > limits.ratio * (at + taken):
                    raise UnreadableFile(
                        display, f"unpacks to more than {limits.ratio} times its size, as a zip bomb does: not followed"
                    )
                yield piece
            at += taken - len(decoder.unused_data)
            # gzip and xz files may be padded; only a stream of the same kind may follow.
            if stream_codec(source.read_at(at, 8)) != codec:
                break
    except _errors() as error:
        raise UnreadableFile(display, _damage(error)) from error


def zip_head(data: bytes, method: int, size: int) -> bytes:
    """The first `size` bytes of a zip member, or as many as `data`, the start of its packed data, contains; empty if it
    is damaged."""
    if method == 0:
        return data[:size]
    try:
        # For a few bytes of each of thousands of members zlib itself is faster: 2.6 us instead of 4.3 with ISA-L.
        decoder = zlib.decompressobj(-zlib.MAX_WBITS) if method == 8 else _ZIP_METHODS[method]()
        head: bytes = decoder.decompress(data, size)
        return head
    except _errors():
        return b""


def unpack_member(
    source: ByteSource, offset: int, member: ZipMember, display: str, into: Unpacked | None = None
) -> Buffer:
    """Unpack a whole zip member: exactly its `size`, whatever its data would unpack to.

    Args:
        offset: of its data.
        into: destination (default: memory, or a file of its own).

    Raises:
        UnreadableFile: it is damaged, or its length or checksum differs from the archive's.
    """
    packed, method, size = member.packed, member.method, member.size
    if size == 0:
        return b""
    unpacked = Unpacked(size, display) if into is None else into
    checksum = 0
    crc32 = _inflater().crc32
    try:
        if method == 0:
            pieces: Iterator[bytes] = (
                source.read_at(offset + done, min(CHUNK_OUT, packed - done)) for done in range(0, packed, CHUNK_OUT)
            )
        else:
            pieces = _pieces(_ZIP_METHODS[method](), source, offset, packed)
        for piece in pieces:
            if unpacked.length + len(piece) > size:
                raise UnreadableFile(
                    display, f"damaged: unpacks to more than the {size} bytes that the archive declares"
                )
            unpacked.append(piece)
            checksum = crc32(piece, checksum)
    except _errors() as error:
        raise UnreadableFile(display, _damage(error)) from error
    if unpacked.length != size:
        raise UnreadableFile(display, f"damaged: {unpacked.length} bytes of the {size} that the archive declares")
    if checksum != member.crc:
        raise UnreadableFile(display, "damaged: its checksum (CRC-32) is not the one in the archive")
    return unpacked.buffer()
