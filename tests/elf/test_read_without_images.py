"""A file that is read without its CUDA images gives the same results as the whole file."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest

from abiscan.binary import open_binary
from abiscan.elf import opening, read_elf, read_without_images
from abiscan.elf.opening import map_file
from abiscan.elf.sections import section
from abiscan.errors import UnreadableFile
from abiscan.file_buffer import Sparse

CUDA = ("gpu-cuda.so", "gpu-cuda-compressed.so", "gpu-cuda-relocatable.so")
ALL = 1 << 30


@pytest.fixture(autouse=True)
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the files and images of the fixtures were large."""
    monkeypatch.setattr(opening, "_LARGE", 0)
    for name, value in (("_LEAST_IMAGE", 8), ("_LEAST", 1), ("_BEGINNING", 512)):
        monkeypatch.setattr(read_without_images, name, value)


def read(path: Path) -> Sparse:
    found = map_file(path, path.name, copy_up_to=ALL)
    assert isinstance(found, Sparse)
    return found


@pytest.mark.parametrize("name", CUDA)
def test_only_images_are_left_out(name: str, fixtures_dir: Path) -> None:
    path = fixtures_dir / name
    whole = path.read_bytes()
    found = read(path)
    kept = bytearray(whole)
    for start, end in found.left_out:
        kept[start:end] = bytes(end - start)
    assert bytes(found.buffer[:]) == bytes(kept)
    assert found.whole() == whole
    sparse, complete = open_binary(path, name, copy_up_to=ALL), read_elf(whole, name)
    assert sparse.device_images() == complete.device_images()
    assert sparse.facts() == complete.facts()
    # The headers sufficed: the images were not read in between.
    assert bytes(sparse.image.buffer[:]) == bytes(kept)  # type: ignore[attr-defined]
    assert sparse.sha256() == complete.sha256()


@pytest.mark.parametrize("name", ["good-extension.so", "gpu-hip.so"])
def test_a_file_without_cuda_images_is_read_whole(name: str, fixtures_dir: Path) -> None:
    path = fixtures_dir / name
    assert map_file(path, name, copy_up_to=ALL) == path.read_bytes()


def test_what_is_no_elf_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "other.so"
    for contents in (b"x", b"\x7fELF", b"MZ" + bytes(200)):
        path.write_bytes(contents)
        assert map_file(path, path.name, copy_up_to=ALL) == contents


@pytest.mark.parametrize("at", range(0, 64, 4))
def test_damaged_headers_of_images_leave_the_rest_in(at: int, fixtures_dir: Path, tmp_path: Path) -> None:
    """Every field of the first headers, with the largest value: the file reads as before, by the whole file."""
    data = bytearray((fixtures_dir / "gpu-cuda.so").read_bytes())
    place = section(read_elf(bytes(data), "whole").image, b".nv_fatbin")
    assert place is not None
    struct.pack_into("<I", data, place[0] + at, 0xFFFFFFFF)
    path = tmp_path / "damaged.so"
    path.write_bytes(data)
    found, whole = open_binary(path, copy_up_to=ALL), read_elf(bytes(data), str(path))
    assert found.device_images() == whole.device_images()
    assert found.facts() == whole.facts()


def test_a_file_that_changes_is_an_error(fixtures_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "changing.so"
    path.write_bytes((fixtures_dir / "gpu-cuda.so").read_bytes())
    found = read(path)
    os.truncate(path, 5000)
    with pytest.raises(UnreadableFile, match="it changed while it was read"):
        found.whole()
    path.unlink()
    with pytest.raises(UnreadableFile, match="cannot be read: no such file"):
        found.whole()
    monkeypatch.setattr(os, "preadv", lambda descriptor, buffers, at: 0)
    with pytest.raises(UnreadableFile, match="it became shorter while it was read"):
        map_file(fixtures_dir / "gpu-cuda.so", "shorter", copy_up_to=ALL)
