"""The file that an archive is unpacked to: each member once for all processes, and no loss if the disk is full."""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from abiscan.binary import Sparse
from abiscan.inputs import Artifact, Options, expand
from abiscan.inputs.scratch import Scratch
from abiscan.inputs.unpacked import Buffer, Unpacked
from tests.inputs.kit import FIXTURES, tar_bytes, zip_bytes

SMALL = (FIXTURES / "gcc-const-data-ptr.so").read_bytes()


def unpacker(data: bytes, count: Callable[[], object]) -> Callable[[Unpacked | None], Buffer]:
    def unpack(into: Unpacked | None = None) -> Buffer:
        count()
        if into is None:
            return data
        for at in range(0, len(data), 1000):
            into.append(data[at : at + 1000])
        return into.buffer()

    return unpack


def contents(found: Sparse | Buffer | None) -> bytes:
    assert found is not None
    return (found.buffer if isinstance(found, Sparse) else found)[:]


def test_each_member_has_a_place_of_its_own() -> None:
    scratch = Scratch()
    members = {number: os.urandom(5000 * number) for number in range(1, 5)}
    for number, data in members.items():
        scratch.allot(number, len(data))
    asked: list[int] = []
    for _ in range(2):
        for number, data in reversed(members.items()):
            unpack = unpacker(data, lambda number=number: asked.append(number))
            assert contents(scratch.get(number, len(data), "x", unpack, unpack)) == data
    assert asked == [4, 3, 2, 1]
    assert scratch.get("another", 10, "x", unpack, unpack) is None


@pytest.mark.parametrize("gone", [False, True])
def test_what_another_process_unpacked_is_read(gone: bool) -> None:
    """`gone`: it died while unpacking."""
    scratch = Scratch(sharers=2)
    scratch.allot("first", 100)
    scratch.allot("x", len(SMALL))
    child = os.fork()
    if child == 0:
        unpack = unpacker(SMALL, lambda: os._exit(9) if gone else None)
        scratch.get("x", len(SMALL), "x", unpack, unpack)
        os._exit(0)
    os.waitpid(child, 0)
    asked: list[int] = []
    unpack = unpacker(SMALL, lambda: asked.append(1))
    assert contents(scratch.get("x", len(SMALL), "x", unpack, unpack)) == SMALL
    assert bool(asked) == gone


@pytest.mark.parametrize("hashes", [False, True])
def test_holes_travel_too(hashes: bool) -> None:
    """And so does the hash, which cannot be computed from the reduced form."""
    container = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, 64 + 50_000)
    image = struct.pack("<HHIQ8xHHI8xQ8x", 2, 1, 64, 50_000, 0, 8, 90, 0)
    data = os.urandom(1000) + container + image + os.urandom(150_000)
    scratch = Scratch(sharers=2, hashes=hashes)
    scratch.allot("x", len(data))
    unpack = unpacker(data, lambda: None)
    child = os.fork()
    if child == 0:
        scratch.get("x", len(data), "x", unpack, unpack)
        os._exit(0)
    os.waitpid(child, 0)
    found = scratch.get("x", len(data), "x", unpacker(b"", lambda: pytest.fail("again")), unpack)
    assert isinstance(found, Sparse)
    assert list(found.left_out) == [(1080, 51_080)]
    assert found.sha256 == (hashlib.sha256(data).hexdigest() if hashes else None)
    assert found.buffer[:] == data[:1080] + bytes(50_000) + data[51_080:]
    assert found.whole() == data


@pytest.mark.parametrize("form", ["zip", "tar.gz"])
def test_a_file_is_hashed_while_it_is_unpacked_the_one_time(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = (FIXTURES / "gpu-cuda.so").read_bytes()
    members = {"x/a.so": data, "x/b.so": SMALL}
    (tmp_path / f"x.{form}").write_bytes(zip_bytes(members) if form == "zip" else tar_bytes(members, "w:gz"))
    monkeypatch.setattr("abiscan.inputs.cache.MIN_ON_DISK", 0)
    monkeypatch.setattr("abiscan.elf.payloads._LEAST", 8)
    made: list[Unpacked] = []
    original = Unpacked.__init__

    def count(self: Unpacked, *arguments: Any, **named: Any) -> None:
        made.append(self)
        original(self, *arguments, **named)

    monkeypatch.setattr(Unpacked, "__init__", count)
    found = expand([f"x.{form}"], cwd=str(tmp_path), options=Options(hashes=True))
    hashes = {item.member: item.open().sha256() for item in found if isinstance(item, Artifact)}
    assert hashes == {name: hashlib.sha256(content).hexdigest() for name, content in members.items()}
    assert len(made) == 2


def test_without_a_temporary_file_members_stay_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nothing"))
    scratch = Scratch()
    scratch.allot("x", len(SMALL))
    unpack = unpacker(SMALL, lambda: None)
    assert scratch.get("x", len(SMALL), "x", unpack, unpack) is None


def test_beyond_its_bytes_nothing_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("abiscan.inputs.scratch.MAX_ON_DISK", 1)
    scratch = Scratch()
    unpack = unpacker(SMALL, lambda: None)
    for key in ("first", "second"):
        scratch.allot(key, len(SMALL))
    assert contents(scratch.get("first", len(SMALL), "x", unpack, unpack)) == SMALL
    assert scratch.get("second", len(SMALL), "x", unpack, unpack) is None
