"""Wheels and other archives. Oracle: zipfile and tarfile wrote them, and the bytes must be the same."""

from __future__ import annotations

import gc
import gzip
import importlib.util
import io
import json
import pickle
import sys
import tarfile
import weakref
import zipfile
from pathlib import Path

import pytest

from abiscan.filesystem import FileSystem
from abiscan.inputs import Artifact, Limits, Options, expand
from abiscan.inputs.ranged_bytes import OtherContents
from abiscan.model.report import ArtifactKind
from abiscan.wheel.container_facts import ContainerKind
from tests.inputs.kit import DIST_INFO, GOOD, METADATA, SMALL, WHEEL_NAME, all_of, content_of, tar_bytes, zip_bytes

ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
HAS_ZSTD = importlib.util.find_spec(ZSTD.partition(".")[0]) is not None and importlib.util.find_spec(ZSTD) is not None


def test_a_wheel(tmp_path: Path) -> None:
    members = {
        "demo/_C.cpython-311-x86_64-linux-gnu.so": GOOD,
        "demo/__init__.py": b"import os\n",
        "demo/header.h": b"int x;",
        "demo.libs/libhelp-1234.so.2": SMALL,
        "demo-1.0.data/purelib/extra.so": SMALL,
        "demo-1.0.data/data/lib/libdata.so": SMALL,
        **DIST_INFO,
    }
    (tmp_path / WHEEL_NAME).write_bytes(zip_bytes(members))
    found, errors, notes = all_of(WHEEL_NAME, cwd=tmp_path)
    assert not errors
    assert not notes
    assert {a.member: a.install_path for a in found} == {
        "demo/_C.cpython-311-x86_64-linux-gnu.so": "demo/_C.cpython-311-x86_64-linux-gnu.so",
        "demo.libs/libhelp-1234.so.2": "demo.libs/libhelp-1234.so.2",
        "demo-1.0.data/purelib/extra.so": "extra.so",
        "demo-1.0.data/data/lib/libdata.so": "../../../lib/libdata.so",
    }
    assert [a.size for a in found] == sorted((a.size for a in found), reverse=True)
    for artifact in found:
        assert artifact.disk_path is None
        assert artifact.display == f"{WHEEL_NAME}!{artifact.member}"
        assert artifact.member is not None
        assert content_of(artifact) == members[artifact.member]
    group = found[0].group
    assert [a.member for a in group.named("libhelp-1234.so.2")] == ["demo.libs/libhelp-1234.so.2"]
    facts = group.facts
    assert (facts.kind, facts.name, facts.version) == (ContainerKind.WHEEL, "demo", "1.0")
    assert facts.file_tags == ("cp311-cp311-manylinux_2_17_x86_64", "cp311-cp311-manylinux2014_x86_64")
    assert facts.metadata_tags == ("cp311-cp311-linux_x86_64",)
    assert facts.requires_dist == ("torch==2.4.0",)
    assert facts.requires_python == ">=3.9"


def test_another_process_finds_the_neighbours_of_a_member(tmp_path: Path) -> None:
    members = {"model/data/aotinductor/a.so": GOOD, "model/data/aotinductor/a.json": b"[1]", "other/a.json": b"[2]"}
    (tmp_path / "model.pt2").write_bytes(zip_bytes(members))
    found, _errors, _notes = all_of("model.pt2", cwd=tmp_path)
    sent = [each for each in pickle.loads(pickle.dumps(found)) if each.member == "model/data/aotinductor/a.so"]
    assert [each.beside(".json", FileSystem()) for each in sent] == [b"[1]"]


def test_a_wheel_is_known_by_what_is_in_it(tmp_path: Path) -> None:
    (tmp_path / "download").write_bytes(zip_bytes({"demo/a.so": SMALL, **DIST_INFO}))
    (found,), _, _ = all_of("download", cwd=tmp_path)
    assert found.group.facts.kind is ContainerKind.WHEEL
    assert found.group.facts.name == "demo"


def test_a_pure_wheel_is_noted(tmp_path: Path) -> None:
    (tmp_path / "demo-1.0-py3-none-any.whl").write_bytes(zip_bytes({"demo/__init__.py": b"", **DIST_INFO}))
    found, errors, (note,) = all_of("demo-1.0-py3-none-any.whl", cwd=tmp_path)
    assert not found
    assert not errors
    assert note.message == "no shared object inside (pure Python)"


# The first bytes of a 64-bit Mach-O file (MH_MAGIC_64 of <mach-o/loader.h>, little endian), an x86-64 bundle.
MACH_O = bytes.fromhex("cffaedfe07000001030000000800000010000000") + bytes(100)
# "MS-DOS Stub", "Signature" and "COFF File Header" of the PE format specification: an x86-64 DLL without sections.
PE = b"MZ".ljust(0x3C, b"\0") + b"\x40\0\0\0PE\0\0" + bytes.fromhex("64860000") + bytes(14) + b"\x02\x20" + bytes(100)


@pytest.mark.parametrize(
    ("module", "content"), [("_C.cp312-win_amd64.pyd", PE), ("libx.dylib", MACH_O), ("a.so", MACH_O), ("X.DLL", PE)]
)
def test_libraries_of_windows_and_macos_are_found(tmp_path: Path, module: str, content: bytes) -> None:
    """CPython also uses `.so` on macOS (torchaudio-2.6.0-cp311-cp311-macosx_11_0_arm64.whl)."""
    members = {"demo/__init__.py": b"", f"demo/{module}": content, **DIST_INFO}
    (tmp_path / "demo-1.0-cp312-cp312-win_amd64.whl").write_bytes(zip_bytes(members))
    (found,), errors, notes = all_of("demo-1.0-cp312-cp312-win_amd64.whl", cwd=tmp_path)
    assert found.kind is ArtifactKind.SHARED_OBJECT
    assert not errors
    assert not notes


@pytest.mark.parametrize("module", ["_C.pyd", "libx.dylib", "x.dll"])
def test_what_is_only_named_as_a_library_of_another_system_is_an_error(tmp_path: Path, module: str) -> None:
    members = {"demo/__init__.py": b"", f"demo/{module}": b"text", **DIST_INFO}
    (tmp_path / "demo-1.0-py3-none-any.whl").write_bytes(zip_bytes(members))
    found, (error,), _ = all_of("demo-1.0-py3-none-any.whl", cwd=tmp_path)
    assert not found
    assert error.path == f"demo-1.0-py3-none-any.whl!demo/{module}"


def test_a_program_for_windows_is_skipped(tmp_path: Path) -> None:
    """setuptools ships programs that start scripts (cli-64.exe): no loader opens them as a library."""
    program = PE.replace(b"\x02\x20", b"\x02\x00")
    members = {"demo/a.so": SMALL, "demo/cli-64.exe": program, **DIST_INFO}
    (tmp_path / "demo-1.0-py3-none-any.whl").write_bytes(zip_bytes(members))
    found, errors, _ = all_of("demo-1.0-py3-none-any.whl", cwd=tmp_path)
    assert len(found) == 1
    assert not errors


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_every_method_of_packing(tmp_path: Path, method: int) -> None:
    (tmp_path / "a.zip").write_bytes(zip_bytes({"lib/a.so": GOOD, "lib/b.so.1": SMALL}, method))
    found, errors, _ = all_of("a.zip", cwd=tmp_path)
    assert not errors
    assert [content_of(a) for a in found] == [GOOD, SMALL]


def test_a_comment_that_looks_like_an_end(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.so", GOOD)
        archive.comment = b"PK\x05\x06 is no end of a directory here"
    (found,), errors, _ = all_of("a.zip", cwd=tmp_path)
    assert not errors
    assert content_of(found) == GOOD


@pytest.mark.parametrize(
    ("name", "mode"),
    [("a.tar", "w"), ("a.tar.gz", "w:gz"), ("a.tgz", "w:gz"), ("a.tar.bz2", "w:bz2"), ("a.tar.xz", "w:xz")],
)
def test_tars(tmp_path: Path, name: str, mode: str) -> None:
    members = {"x/liba.so.1.2": GOOD, "x/read.me": b"text", "x/b.so": SMALL, "x/" + "n" * 150 + ".so": SMALL}
    (tmp_path / name).write_bytes(tar_bytes(members, mode, {"x/liba.so.1": "liba.so.1.2", "x/sh.so": "/bin/sh"}))
    found, errors, _ = all_of(name, cwd=tmp_path)
    assert [error.path for error in errors] == [f"{name}!x/sh.so"]
    assert {a.member: content_of(a) for a in found} == {n: c for n, c in members.items() if n.endswith(("so", "2"))}
    assert [a.member for a in found[0].group.named("liba.so.1")] == ["x/liba.so.1.2"]
    assert found[0].group.named("sh.so") == ()


def test_members_of_a_tar_in_any_order_and_twice(tmp_path: Path) -> None:
    """Nothing is cached (the limit is a byte), so each is unpacked from the stream again."""
    members = {f"{i}.so": (GOOD if i % 3 else SMALL) for i in range(6)}
    (tmp_path / "a.tar.gz").write_bytes(tar_bytes(members, "w:gz"))
    found, _, _ = all_of("a.tar.gz", cwd=tmp_path, limits=Limits(kept=1))
    for artifact in [*found, *reversed(found), *found[::2]]:
        assert artifact.member is not None
        assert content_of(artifact) == members[artifact.member]
        assert artifact.open_tables().needed == artifact.open().needed


def test_an_sdist_has_sources(tmp_path: Path) -> None:
    members = {"demo-1.0/PKG-INFO": METADATA, "demo-1.0/csrc/a.cu": b"__global__ void f();", "demo-1.0/setup.py": b""}
    (tmp_path / "demo-1.0.tar.gz").write_bytes(tar_bytes(members, "w:gz"))
    (found,), errors, notes = all_of("demo-1.0.tar.gz", cwd=tmp_path)
    assert (found.kind, found.member, found.read()) == (
        ArtifactKind.SOURCE,
        "demo-1.0/csrc/a.cu",
        b"__global__ void f();",
    )
    assert found.group.facts.kind is ContainerKind.SDIST
    assert found.group.facts.requires_dist == ("torch==2.4.0",)
    assert not errors
    assert not notes


CONDA = {
    "info/index.json": json.dumps({"name": "demo", "version": "1.0", "depends": ["pytorch >=2.4,<2.5"]}).encode(),
    "lib/python3.11/site-packages/demo/_C.so": GOOD,
    "lib/libhelp.so.1": SMALL,
}


def test_an_old_conda_package(tmp_path: Path) -> None:
    (tmp_path / "demo-1.0-0.tar.bz2").write_bytes(tar_bytes(CONDA, "w:bz2"))
    found, errors, _ = all_of("demo-1.0-0.tar.bz2", cwd=tmp_path)
    assert not errors
    assert {a.member: a.install_path for a in found} == {
        "lib/python3.11/site-packages/demo/_C.so": "demo/_C.so",
        "lib/libhelp.so.1": "../../../lib/libhelp.so.1",
    }
    facts = found[0].group.facts
    assert (facts.kind, facts.name, facts.requires_dist) == (ContainerKind.CONDA, "demo", ("pytorch >=2.4,<2.5",))


def _new_conda(tmp_path: Path, content: bytes, info: bytes) -> str:
    (tmp_path / "demo-1.0-0.conda").write_bytes(
        zip_bytes(
            {"metadata.json": b"{}", "pkg-demo-1.0-0.tar.zst": content, "info-demo-1.0-0.tar.zst": info},
            zipfile.ZIP_STORED,
        )
    )
    return "demo-1.0-0.conda"


@pytest.mark.skipif(not HAS_ZSTD, reason="no zstd here")
def test_a_new_conda_package(tmp_path: Path) -> None:
    zstd = importlib.import_module(ZSTD)
    info = {n: c for n, c in CONDA.items() if n.startswith("info/")}
    package = {n: c for n, c in CONDA.items() if not n.startswith("info/")}
    name = _new_conda(tmp_path, zstd.compress(tar_bytes(package)), zstd.compress(tar_bytes(info)))
    found, errors, _ = all_of(name, cwd=tmp_path)
    assert not errors
    assert {a.member: content_of(a) for a in found} == package
    assert found[0].group.facts.requires_dist == ("pytorch >=2.4,<2.5",)


@pytest.mark.skipif(HAS_ZSTD, reason="zstd is here")
def test_a_new_conda_package_without_zstd_names_what_to_install(tmp_path: Path) -> None:
    frame = b"\x28\xb5\x2f\xfd\x00\x00\x01\x00\x00"
    found, errors, _ = all_of(_new_conda(tmp_path, frame, frame), cwd=tmp_path)
    assert not found
    assert errors
    assert all("backports.zstd" in e.message for e in errors)


def test_archives_in_archives(tmp_path: Path) -> None:
    wheel = zip_bytes({"demo/a.so": GOOD, **DIST_INFO})
    tar = tar_bytes({f"dist/{WHEEL_NAME}": wheel, "x.so": SMALL}, "w:gz")
    (tmp_path / "all.zip").write_bytes(zip_bytes({"inner.tar.gz": tar, "model.pt": wheel}))
    found, errors, _ = all_of("all.zip", cwd=tmp_path)
    assert not errors
    assert {a.member: content_of(a) for a in found} == {
        "inner.tar.gz!x.so": SMALL,
        f"inner.tar.gz!dist/{WHEEL_NAME}!demo/a.so": GOOD,
    }
    assert len({a.group.key for a in found}) == 2
    deeper = zip_bytes({"all.zip": (tmp_path / "all.zip").read_bytes()}, zipfile.ZIP_STORED)
    (tmp_path / "deeper.zip").write_bytes(deeper)
    found, (error,), _ = all_of("deeper.zip", cwd=tmp_path)
    assert [a.member for a in found] == ["all.zip!inner.tar.gz!x.so"]
    assert error.path == f"deeper.zip!all.zip!inner.tar.gz!dist/{WHEEL_NAME}"
    assert "not followed deeper" in error.message


def test_archives_of_a_directory_are_looked_into(tmp_path: Path) -> None:
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / WHEEL_NAME).write_bytes(zip_bytes({"demo/a.so": GOOD, **DIST_INFO}))
    (tmp_path / "dist" / "model.pt").write_bytes(zip_bytes({"demo/a.so": GOOD}))
    found, errors, _ = all_of("dist", f"dist/{WHEEL_NAME}", cwd=tmp_path)
    assert not errors
    assert [a.display for a in found] == [f"dist/{WHEEL_NAME}!demo/a.so"]


def test_what_is_named_as_a_shared_object_and_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_bytes({"a.so": b"text", "b.so.1": b"", "c.txt": b"text", "d.so": GOOD}))
    found, errors, _ = all_of("a.zip", cwd=tmp_path)
    assert [a.member for a in found] == ["d.so"]
    assert [(e.path, e.message.split(":")[0]) for e in errors] == [
        ("a.zip!b.so.1", "empty file"),
        ("a.zip!a.so", "not an ELF file"),
    ]


@pytest.mark.parametrize(
    "content",
    [zip_bytes({"a.txt": b"x"}), tar_bytes({"a.txt": b"x"}, "w:gz"), zip_bytes({})],
    ids=["zip", "tar.gz", "empty"],
)
def test_an_archive_without_shared_objects(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    found, (error,), _ = all_of("a.zip", cwd=tmp_path)
    assert not found
    assert error.message == "no shared object in this archive"


def _tar_with_large_header() -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        member = tarfile.TarInfo("a.so")
        member.pax_headers = {"comment": "c" * (2 << 20)}
        archive.addfile(member)
    return made.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD, "compressed, but not a tar archive: decompress it and check the file"),
        (b"", "damaged tar archive: empty file"),
        (_tar_with_large_header(), "damaged tar archive: a header of 2097664 bytes"),
    ],
    ids=["a file", "nothing", "a tar"],
)
def test_a_compressed_file_without_a_tar(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(content))
    found, (error,), _ = all_of("a.gz", cwd=tmp_path)
    assert not found
    assert error.message == message


def test_artifacts_can_be_sent_to_another_process(tmp_path: Path) -> None:
    inner = zip_bytes({"a.so": GOOD})
    (tmp_path / "a.zip").write_bytes(zip_bytes({"inner.zip": inner, "b.so": SMALL}))
    (tmp_path / "a.tar.gz").write_bytes(tar_bytes({"c.so": SMALL}, "w:gz"))
    found, _, _ = all_of("a.zip", "a.tar.gz", cwd=tmp_path)
    contents = [content_of(a) for a in found]
    assert [content_of(a) for a in pickle.loads(pickle.dumps(found))] == contents == [SMALL, GOOD, SMALL]


def test_artifacts_come_lazily(tmp_path: Path) -> None:
    (tmp_path / "a.so").write_bytes(SMALL)
    (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 broken")
    items = expand(["a.so", "b.zip"], cwd=str(tmp_path), options=Options())
    assert isinstance(next(items), Artifact)


@pytest.mark.parametrize("form", ["wheel", "tar"])
@pytest.mark.parametrize("size", [len(GOOD), 2 << 20], ids=["in memory", "on disk"])
def test_files_of_an_archive_are_released_at_its_end(tmp_path: Path, form: str, size: int) -> None:
    """Without the garbage collector, which runs too rarely for a folder of wheels."""
    members = {"demo/a.so": GOOD.ljust(size, b"\0"), "demo/b.so": SMALL}
    target = tmp_path / (WHEEL_NAME if form == "wheel" else "demo.tar")
    target.write_bytes(zip_bytes({**members, **DIST_INFO}) if form == "wheel" else tar_bytes(members))
    opened = []
    gc.disable()
    try:
        for item in expand([str(target)], cwd=str(tmp_path)):
            assert isinstance(item, Artifact)
            opened += [weakref.ref(item.open()), weakref.ref(item.open_tables())]
            del item
        assert [each() for each in opened] == [None] * 4
    finally:
        gc.enable()


def test_an_error_about_other_contents_can_be_sent_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(OtherContents("a.whl", "another hash", 7)))
    assert (type(error), error.path, error.reason) == (OtherContents, "a.whl", "another hash")
