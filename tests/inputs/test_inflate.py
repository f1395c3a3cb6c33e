"""Unpacking in pieces of every size gives the data that zlib, bz2 and lzma packed."""

from __future__ import annotations

import bz2
import lzma
import random
import zlib

import pytest

from abiscan.inputs import inflate
from abiscan.inputs.artifact import Limits
from abiscan.inputs.byte_source import MemoryBytes
from abiscan.inputs.zips import ZipMember
from tests.inputs.kit import GOOD

# Long runs expand, noise does not: both leave a decompressor with pending input or output.
CONTENT = GOOD + bytes(300_000) + random.Random(1).randbytes(70_000) + b"abc" * 50_000


@pytest.fixture(params=[(1, 1000), (7, 64), (1 << 14, 1 << 15), (1 << 16, 1 << 12), (1 << 20, 1 << 20)], ids=str)
def chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflate, "CHUNK_IN", request.param[0])
    monkeypatch.setattr(inflate, "CHUNK_OUT", request.param[1])


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(9, wbits=-15)
    return packer.compress(data) + packer.flush()


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize(("method", "pack"), [(0, bytes), (8, raw_deflate), (12, bz2.compress)])
def test_members(method: int, pack: object) -> None:
    packed = pack(CONTENT)  # type: ignore[operator]
    member = ZipMember("x", 0, method, zlib.crc32(CONTENT), len(packed), len(CONTENT), 0, 0, b"x")
    buffer = inflate.unpack_member(MemoryBytes(b"in front" + packed + b"behind"), 8, member, "x")
    assert bytes(buffer[:]) == CONTENT


@pytest.mark.usefixtures("chunks")
@pytest.mark.parametrize("codec", ["gzip", "bzip2", "xz"])
@pytest.mark.parametrize("padding", [b"", bytes(512)])
def test_streams_one_behind_the_other(codec: str, padding: bytes) -> None:
    def gzip(data: bytes) -> bytes:
        packer = zlib.compressobj(wbits=31)
        return packer.compress(data) + packer.flush()

    pack = {"gzip": gzip, "bzip2": bz2.compress, "xz": lzma.compress}[codec]
    source = MemoryBytes(pack(CONTENT) + pack(b"") + pack(b"second") + padding)
    assert b"".join(inflate.stream(source, codec, "x", Limits())) == CONTENT + b"second"
