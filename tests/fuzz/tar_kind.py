"""Tar archives, mutated: types of members, links, names, numbers, pax and GNU headers, and the stream they come in."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import tarfile
from collections.abc import Callable, Sequence
from random import Random

from tests.fuzz.mutate import WIDE_EDGES, mutate_bytes

_TYPES = (b"0", b"\0", b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"S", b"L", b"K", b"x", b"g", b"X", b"Q", b"M", b"V")
_NAMES = (
    *("lib/x.so", "lib/y.so.1", "x.so", "lib", "lib/x.so/y.so", "../x.so", "/x.so", "a/./b//c.so", ""),
    *(".", "inner.whl"),
    *("inner.tar.gz", "demo-1.0/PKG-INFO", "info/index.json", "demo-1.0.dist-info/METADATA", "a" * 300 + ".so"),
    *("a/" * 200 + "x.so", "\x9b.so", "\udc80.so", "x.json"),
)
_METADATA = b"Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: torch>=2.4\n"
# Offset and width of the fields of a header (POSIX ustar).
_FIELDS = ((0, 100), (100, 8), (124, 12), (136, 12), (148, 8), (156, 1), (157, 100), (257, 6), (345, 155), (386, 97))


def tar_kind(seeds: Sequence[bytes], directory: str) -> tuple[Callable[[Random], bytes], Callable[[bytes], None]]:
    """Functions that make and read an input.

    Args:
        seeds: small shared objects.
        directory: for the input file.
    """
    path = os.path.join(directory, "fuzz.tar")

    def make(rng: Random) -> bytes:
        data = _archive(seeds, rng)
        if rng.random() < 0.1:
            data = _archive((data, gzip.compress(data, 1)), rng)
        codec = rng.choice((bytes, bytes, bytes, lambda raw: gzip.compress(raw, 1), bz2.compress, _xz))
        data = codec(data)
        return mutate_bytes(data, rng) if rng.random() < 0.3 else data

    def run(data: bytes) -> None:
        from abiscan.errors import UnreadableFile
        from abiscan.inputs import Artifact, Options, expand

        with open(path, "wb") as file:
            file.write(data)
        for item in expand(["fuzz.tar"], cwd=directory, options=Options()):
            if isinstance(item, Artifact):
                item.group.named("x.so")
                try:
                    item.open_tables()
                    item.content.neighbour("x.json", 1 << 20)
                except UnreadableFile:
                    continue

    return make, run


def _xz(raw: bytes) -> bytes:
    return lzma.compress(raw, preset=0)


def _archive(contents: Sequence[bytes], rng: Random) -> bytes:
    buffer = io.BytesIO()
    headers = {"path": rng.choice(_NAMES), "size": str(rng.choice(WIDE_EDGES)), "GNU.sparse.map": "0,1,9,9"}
    pax = {key: value for key, value in headers.items() if value and rng.random() < 0.1}
    form = rng.choice((tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT))
    with tarfile.open(fileobj=buffer, mode="w", format=form, encoding="utf-8", errors="surrogateescape") as archive:
        for _ in range(rng.choice((1, 2, 4, 12))):
            info = tarfile.TarInfo(rng.choice(_NAMES))
            content = rng.choice((*contents, _METADATA, b"{}", b"", b"\x7fELF"))
            if rng.random() < 0.4:
                info.type = rng.choice(_TYPES)
                info.linkname = rng.choice(_NAMES)
            info.pax_headers = dict(pax) if form == tarfile.PAX_FORMAT else {}
            info.size = len(content) if info.type in tarfile.REGULAR_TYPES or rng.random() < 0.3 else 0
            try:
                archive.addfile(info, io.BytesIO(content) if info.size else None)
            except (ValueError, OSError):  # a name that the format does not allow
                continue
    out = bytearray(buffer.getvalue())
    starts = range(0, max(len(out) - 1024, 512), 512)
    for _ in range(rng.choice((0, 1, 1, 2, 4))):
        start = rng.choice(starts)
        at, width = rng.choice(_FIELDS)
        text = rng.choice((b"%o" % rng.choice(WIDE_EDGES), b"-1", b"\x80" + b"\xff" * 11, b"", b"\xff" * 12, b"9 9"))
        out[start + at : start + at + width] = text[:width].ljust(width, b"\0")
        # The checksum of the header, without which it is rejected.
        header = bytes(out[start : start + 512])
        if len(header) == 512 and rng.random() < 0.9:
            total = sum(header[:148]) + 8 * 32 + sum(header[156:])
            out[start + 148 : start + 156] = b"%06o\0 " % total
    return bytes(out)
