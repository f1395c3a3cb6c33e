"""A file without its GPU images gives the same results; access to omitted data raises an error."""

from __future__ import annotations

import hashlib
import os
import struct
import zlib
from pathlib import Path

import pytest

from abiscan.binary import payload_finder, read_binary
from abiscan.elf import ElfFile, payloads, read_elf
from abiscan.elf.device_images import SECTIONS
from abiscan.elf.offload_bundle import read_bundles
from abiscan.elf.sections import named_sections, section
from abiscan.file_buffer import Sparse

GPU = ("gpu-cuda.so", "gpu-cuda-compressed.so", "gpu-cuda-relocatable.so", "gpu-hip.so")


def left_out(data: bytes, size: int) -> tuple[bytes, list[tuple[int, int]]]:
    """The file as unpacked in pieces of `size` bytes, with zeros for omitted data; and the omitted ranges."""
    finder = payload_finder(len(data))
    made = bytearray(len(data))
    held = b""
    for start in range(0, len(data), size):
        piece = data[start : start + size]
        end = start + len(piece)
        if end <= finder.skip:
            continue
        block = held + piece
        at = end - len(block)
        kept, again = finder.look(block, at)
        for first, last in kept:
            made[first:last] = block[first - at : last - at]
        held = block[again - at :]
    assert not held
    return bytes(made), finder.left_out


@pytest.fixture
def every_image(monkeypatch: pytest.MonkeyPatch) -> None:
    """Omit small images too."""
    monkeypatch.setattr(payloads, "_LEAST", 8)


@pytest.mark.usefixtures("every_image")
@pytest.mark.parametrize("size", [61, 4096, 1 << 20])
@pytest.mark.parametrize("name", GPU)
def test_it_answers_as_the_whole_file(name: str, size: int, fixtures_dir: Path) -> None:
    data = (fixtures_dir / name).read_bytes()
    made, ranges = left_out(data, size)
    gone = sum(end - start for start, end in ranges)
    assert gone > 0
    assert [byte for start, end in ranges for byte in made[start:end]] == [0] * gone
    kept = bytearray(data)
    for start, end in ranges:
        kept[start:end] = bytes(end - start)
    assert made == kept
    asked: list[str] = []

    def unpack() -> bytes:
        asked.append(name)
        return data

    known = hashlib.sha256(data).hexdigest()
    whole, sparse = read_elf(data, "x"), read_elf(Sparse(made, ranges, unpack, known), "x")
    assert sparse.sha256() == whole.sha256() == known
    assert sparse.device_images() == whole.device_images()
    assert sparse.facts() == whole.facts()
    assert list(sparse.exports()) == list(whole.exports())
    assert sparse.build_marks() == whole.build_marks()
    assert not asked
    assert list(sparse.strings_with(b"a")) == list(whole.strings_with(b"a"))
    # Without a read-only data section, readable mappings are searched.
    assert bool(asked) == (section(whole.image, b".rodata") is None)
    images = [(each.offset, each.offset + each.size) for name, each in named_sections(whole.image) if name in SECTIONS]
    assert all(any(start <= first and last <= end for start, end in images) for first, last in ranges)


def test_the_table_of_a_compressed_bundle_is_kept() -> None:
    """The header of version 2 of ClangOffloadBundler.html, "Compressed Code Object Bundle"."""
    table = struct.pack("<QQQ", 4096, 1 << 20, 31) + b"hipv4-amdgcn-amd-amdhsa--gfx942"
    packed = zlib.compress(b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", 1) + table + os.urandom(1 << 20))
    one = struct.pack("<4sHHIIQ", b"CCOB", 2, 0, 24 + len(packed), 1 << 20, 0) + packed
    data = (one + bytes(-len(one) % 4096)) * 2
    made, ranges = left_out(data, 50_000)
    assert sum(end - start for start, end in ranges) > 1 << 20
    assert list(read_bundles(made, 0, len(made))) == [(("gfx942",), True)] * 2


@pytest.mark.usefixtures("every_image")
@pytest.mark.parametrize("size", [61, 4096, 1 << 20])
def test_containers_are_found_where_compilers_put_them(size: int, fixtures_dir: Path) -> None:
    """nvcc aligns them to 8 bytes (`sh_addralign` of .nv_fatbin); containers elsewhere are kept."""
    whole = (fixtures_dir / "gpu-cuda.so").read_bytes()
    place = section(read_elf(whole, "x").image, b".nv_fatbin")
    assert place is not None
    images = whole[place[0] : sum(place)]
    _, expected = left_out(images, size)
    assert expected
    # The first byte of the pattern, everywhere.
    crowded = b"\xed" * (1 << 16)
    assert left_out(crowded + images, size)[1] == [
        (start + len(crowded), end + len(crowded)) for start, end in expected
    ]
    assert left_out(bytes(4) + images, size) == (bytes(4) + images, [])


def test_small_images_are_kept(fixtures_dir: Path) -> None:
    data = (fixtures_dir / "gpu-cuda.so").read_bytes()
    assert all(end - start >= 1 << 13 for start, end in left_out(data, 4096)[1])


def ranges_of(elf: ElfFile) -> dict[str, tuple[int, int]]:
    names = (b".dynstr", b".dynsym", b".text", b".rodata", b".data", b".shstrtab")
    found = {name.decode(): place for name in names if (place := section(elf.image, name)) is not None}
    return {name: (at, at + size) for name, (at, size) in found.items()} | {
        "headers": (48, 200),
        "section headers": (elf.image.section_offset, elf.image.section_offset + 128),
    }


@pytest.mark.parametrize("what", [".dynstr", ".dynsym", ".text", ".rodata", ".shstrtab", "headers", "section headers"])
def test_other_sections_are_not_missed(what: str, fixtures_dir: Path) -> None:
    """A stream that looks like a container in another place."""
    data = (fixtures_dir / "good-extension.so").read_bytes()
    whole = read_elf(data, "x")
    start, end = ranges_of(whole)[what]
    asked = []

    def unpack() -> bytes:
        asked.append(what)
        return data

    sparse = read_binary(Sparse(data[:start] + bytes(end - start) + data[end:], [(start, end)], unpack), "x")
    assert sparse.facts() == whole.facts()
    assert sparse.buffer == data
    assert asked == [what]


@pytest.mark.usefixtures("every_image")
def test_an_image_that_is_read_by_its_address_comes(fixtures_dir: Path) -> None:
    data = (fixtures_dir / "gpu-cuda.so").read_bytes()
    made, ranges = left_out(data, 4096)
    asked = []

    def unpack() -> bytes:
        asked.append(1)
        return data

    start, end = ranges[0]
    for read in (
        lambda elf: elf.image.slice(start, 4, "x"),
        lambda elf: bytes(elf.image.words(start, 1, "I", "x")),
        lambda elf: elf.image[start : start + 4],
        lambda elf: elf.buffer[start : start + 4],
        lambda elf: elf.image.terminated(start, len(data)),
    ):
        asked.clear()
        sparse, whole = read_elf(Sparse(made, ranges, unpack), "x"), read_elf(data, "x")
        assert not asked
        assert read(sparse) == read(whole)
        assert asked == [1]
    segment = next(s for s in whole.image.loads if s.offset <= start < s.offset + s.file_size)
    sparse = read_elf(Sparse(made, ranges, unpack), "x")
    asked.clear()
    assert sparse.image.offset_of(segment.address + start - segment.offset, "x", end - start) == start
    assert asked == [1]


@pytest.mark.parametrize("payload", [1 << 13, 1 << 40, (1 << 64) - 1])
@pytest.mark.parametrize("image", [0, 1 << 12, 1 << 40, (1 << 64) - 64])
def test_headers_that_lie_lose_nothing_in_silence(payload: int, image: int) -> None:
    header = struct.pack("<IHHQ", 0xBA55ED50, 1, 16, payload) + struct.pack(
        "<HHIQ8xHHI8xQ", 2, 1, 64, image, 0, 8, 90, 0
    )
    bundle = b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<QQQQ", 1, image, payload, 4) + b"host"
    packed = struct.pack("<4sHHIIQ", b"CCOB", 2, 1, payload & 0xFFFFFFFF, 0, 0)
    data = b"".join(b"x" * 999 + each + b"y" * 50_000 for each in (header, bundle, packed))
    for size in (100, 4096, len(data)):
        made, ranges = left_out(data, size)
        kept = bytearray(data)
        for start, end in ranges:
            assert 0 <= start < end <= len(data)
            kept[start:end] = bytes(end - start)
        assert made == kept
        assert ranges == sorted(ranges)
