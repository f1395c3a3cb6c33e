"""Device code of the fixtures compared with cuobjdump 13.5 (`cuobjdump -all`) and clang-offload-bundler 19 (`--list`),
and damaged sections."""

from __future__ import annotations

import struct
import zlib
from collections import Counter
from pathlib import Path

import pytest

from abiscan.elf import fatbin, open_elf, read_elf
from abiscan.elf.fatbin import ContainerError, read_containers, read_entry
from abiscan.elf.image import Image
from abiscan.elf.offload_bundle import BundleError, read_bundles
from abiscan.elf.scattered_reads import scattered_reads
from abiscan.model.device_code import DeviceCode, DeviceImages

ALL = Counter(
    {
        **{("elf", arch): 1 for arch in ("sm_80", "sm_90a", "sm_100f", "sm_120")},
        **{("ptx", arch): 1 for arch in ("sm_80", "sm_90a", "sm_100f")},
    }
)
HIP = ("gfx942", "gfx90a:sramecc+:xnack-", "gfx90a:xnack+", "gfx11-generic")


def as_cuobjdump(code: DeviceImages) -> Counter[tuple[str, str]]:
    """(form, arch) in cuobjdump's names: PTX also has `sm_90`."""
    found: Counter[tuple[str, str]] = Counter()
    for image in code.images:
        form = {DeviceCode.PTX: "ptx", DeviceCode.MACHINE_CODE: "elf"}[image.code]
        found[form, image.architecture.replace("compute_", "sm_")] += image.images
    return found


@pytest.mark.parametrize(
    ("name", "images", "compressed"),
    [
        ("gpu-cuda.so", ALL, 3),
        ("gpu-cuda-compressed.so", ALL, 7),
        ("gpu-cuda-relocatable.so", Counter({("elf", "sm_80"): 2, ("elf", "sm_90a"): 2, ("ptx", "sm_80"): 1}), 3),
    ],
)
def test_cuda_images_are_those_of_cuobjdump(
    name: str, images: Counter[tuple[str, str]], compressed: int, fixtures_dir: Path
) -> None:
    code = open_elf(fixtures_dir / name).device_images()
    assert as_cuobjdump(code) == images
    assert sum(image.compressed for image in code.images) == compressed
    assert code.unread is None


def test_linked_code_is_distinguished_from_its_parts(fixtures_dir: Path) -> None:
    modules = open_elf(fixtures_dir / "gpu-cuda-relocatable.so").device_images().modules
    assert [(module.architectures, module.relocatable) for module in modules] == [
        (("sm_80", "sm_90a"), False),
        (("compute_80", "sm_80", "sm_90a"), True),
    ]


@pytest.mark.parametrize(("name", "compressed"), [("gpu-hip.so", 0), ("gpu-hip-compressed.so", 2)])
def test_hip_targets_are_those_of_the_bundler(name: str, compressed: int, fixtures_dir: Path) -> None:
    code = open_elf(fixtures_dir / name).device_images()
    assert {image.architecture for image in code.images} == set(HIP)
    assert {(image.images, image.compressed) for image in code.images} == {(2, compressed)}
    assert [module.count for module in code.modules] == [2]
    assert code.unread is None


def test_without_section_headers_it_is_unknown(fixtures_dir: Path) -> None:
    data = bytearray((fixtures_dir / "gpu-cuda.so").read_bytes())
    data[40:48] = bytes(8)
    struct.pack_into("<HHH", data, 58, 0, 0, 0)
    code = read_elf(bytes(data), "x.so").device_images()
    assert code.images == ()
    assert code.unread is not None


# --- damaged sections -------------------------------------------------------------------------------------------


def image(kind: int = 2, number: int = 90, flags: int = 0x11, header: int = 64, size: int = 16) -> bytes:
    head = struct.pack("<HHIQ8xHHI8xQ", kind, 0x101, header, size, 0, 8, number, flags)
    return head + bytes(64 - len(head)) + bytes(16)


def container(*images: bytes, magic: int = 0xBA55ED50, more: int = 0) -> bytes:
    payload = b"".join(images)
    return struct.pack("<IHHQ", magic, 1, 16, len(payload) + more) + payload


# A shared object for x86-64 (type 3, machine 62) with no table at all (gABI, "ELF Header").
NO_TABLES = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0)


def read(data: bytes) -> list[list[str]]:
    image = Image(NO_TABLES + data, "containers")
    with scattered_reads(image, None) as bytes_at:
        found = [*read_containers(bytes_at, len(NO_TABLES), image.size)]
    return [[read_entry(head).architecture for head in heads] for heads in found]


def test_containers_follow_each_other_with_zeros_between() -> None:
    data = container(image(), image(1, 80)) + bytes(24) + container() + container(image(8, 70, 0x12011)) + bytes(8)
    assert read(data) == [["sm_90", "compute_80"], [], ["lto_70"]]


@pytest.mark.parametrize(
    "data",
    [
        b"\x01" * 8 + container(image()),
        container(image(), more=8),
        container(image(header=8)),
        container(image(size=1 << 40)),
        container(image())[:20],
        container(image()) + b"\x01",
        container(image(), image()[:30]),
        container(image()) + bytes(1 << 16) + container(image()),
    ],
    ids=["before", "beyond", "header", "size", "cut", "behind", "entry", "gap"],
)
def test_an_invalid_container_is_reported(data: bytes) -> None:
    with pytest.raises(ContainerError):
        read(data)


def test_images_are_counted_while_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fatbin, "MAX_DEVICE_IMAGES", 3)
    assert read(container(image(), image())) == [["sm_90", "sm_90"]]
    with pytest.raises(ContainerError, match="more than 3 images"):
        read(container(*[image()] * 4))


@pytest.mark.parametrize("name", ["gpu-cuda.so", "gpu-cuda-compressed.so", "gpu-cuda-relocatable.so"])
def test_headers_come_from_the_file_as_from_its_map(name: str, fixtures_dir: Path, tmp_path: Path) -> None:
    path = fixtures_dir / name
    expected = read_elf(path.read_bytes(), name).device_images()
    assert open_elf(path).device_images() == expected
    # A missing or different file is not the mapped one.
    for other in (b"", path.read_bytes()[:-1], bytes(path.stat().st_size)):
        copy = tmp_path / name
        copy.write_bytes(path.read_bytes())
        elf = open_elf(copy)
        copy.unlink()
        if other:
            copy.write_bytes(other)
        assert elf.device_images() == expected


def test_a_truncated_file_is_reported() -> None:
    data = NO_TABLES + container(image(), image())
    with pytest.raises(ContainerError, match="shorter"):
        list(read_containers(lambda size, at: data[at : at + size][: 200 - at], len(NO_TABLES), len(data)))


def test_an_image_of_an_unknown_kind_is_reported(fixtures_dir: Path) -> None:
    data = (fixtures_dir / "gpu-cuda.so").read_bytes()
    at = data.index(struct.pack("<IHH", 0xBA55ED50, 1, 16))
    code = read_elf(data[: at + 16] + b"\x40" + data[at + 17 :], "x.so").device_images()
    assert sum(each.images for each in code.images) == 6
    assert code.unread is not None
    assert "kind 64" in code.unread


def table(*targets: bytes) -> bytes:
    rows = b"".join(struct.pack("<QQQ", 4096, 16, len(target)) + target for target in targets)
    return b"__CLANG_OFFLOAD_BUNDLE__" + struct.pack("<Q", len(targets)) + rows


BUNDLE = table(b"hipv4-amdgcn-amd-amdhsa--gfx942", b"hip-amdgcn-amd-amdhsa-unknown-gfx1100")


# The three headers of ClangOffloadBundler.html, "Compressed Code Object Bundle", over zlib (method 0).
@pytest.mark.parametrize("version", [1, 2, 3])
def test_each_version_of_compressed_bundles(version: int) -> None:
    packed = zlib.compress(BUNDLE + bytes(10_000))
    header = {1: "<4sHHIQ", 2: "<4sHHIIQ", 3: "<4sHHQQQ"}[version]
    total = struct.calcsize(header) + len(packed)
    sizes = (len(BUNDLE),) if version == 1 else (total, len(BUNDLE))
    one = struct.pack(header, b"CCOB", version, 0, *sizes, 0) + packed
    data = (one + bytes(-len(one) % 4096)) * 2
    assert list(read_bundles(data, 0, len(data))) == [(("gfx942", "gfx1100"), True)] * 2


@pytest.mark.parametrize(
    "data",
    [
        b"\x01" * 8 + BUNDLE,
        BUNDLE[:60],
        b"__CLANG_OFFLOAD_BUNDLE__" + b"\xff" * 8,
        struct.pack("<4sHHIIQ", b"CCOB", 2, 0, 1 << 30, 10, 0) + bytes(100),
        struct.pack("<4sHHIIQ", b"CCOB", 2, 0, 124, 10, 0) + bytes(100),
        struct.pack("<4sHHIIQ", b"CCOB", 2, 1, 124, 10, 0) + bytes(100),
        struct.pack("<4sHHIIQ", b"CCOB", 9, 0, 124, 10, 0) + bytes(100),
        b"CCOB",
    ],
    ids=["before", "cut", "count", "beyond", "no-zlib", "no-zstd", "version", "header"],
)
def test_an_invalid_bundle_is_reported(data: bytes) -> None:
    with pytest.raises(BundleError):
        list(read_bundles(data, 0, len(data)))
