"""Broken and hostile archives: each gives one line, quickly and with little memory. None may raise."""

from __future__ import annotations

import bz2
import contextlib
import io
import lzma
import random
import resource
import tarfile
import tracemalloc
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from abiscan.errors import UnreadableFile
from abiscan.inputs import Limits
from tests.inputs.kit import DIST_INFO, GOOD, SMALL, all_of, content_of, tar_bytes, zip_bytes
from tests.processor_time import at_most

pytestmark = pytest.mark.slow

MIB = 1 << 20


@contextlib.contextmanager
def bounded(seconds: float, megabytes: float) -> Iterator[None]:
    """Generous bounds, since tracemalloc is four times slower: a loaded machine must pass, an unbounded loop or
    allocation must not. The peak includes anonymous maps, which tracemalloc does not count."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with at_most(seconds):
        tracemalloc.start()
        try:
            yield
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    assert peak / MIB < megabytes
    assert grown < megabytes + 64


def everything(path: Path, limits: Limits | None = None) -> list[str]:
    """All messages of a run over `path`."""
    found, errors, notes = all_of(path.name, cwd=path.parent, limits=limits)
    messages = [f"{e.path}: {e.message}" for e in errors] + [f"{n.path}: {n.message}" for n in notes]
    for artifact in found:
        try:
            artifact.open().facts()
            artifact.open_tables()
        except UnreadableFile as error:
            messages.append(str(error))
    return messages


def patched(data: bytes, at: int, content: bytes) -> bytes:
    return data[:at] + content + data[at + len(content) :]


def one_so(size: int = 0, content: bytes = GOOD) -> bytes:
    return zip_bytes({"a.so": content + b"\0" * size})


def directory_at(data: bytes) -> int:
    return data.rindex(b"PK\x01\x02")


def test_a_zip_bomb_is_refused_by_what_it_declares(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(one_so(80 * MIB))
    with bounded(3, 20):
        (message,) = everything(tmp_path / "a.zip")
    assert message == "a.zip!a.so: unpacks to more than 100 times its size, as a zip bomb does: not unpacked"


def test_a_zip_bomb_that_lies_about_its_size_stops_there(tmp_path: Path) -> None:
    data = one_so(80 * MIB)
    (tmp_path / "a.zip").write_bytes(patched(data, directory_at(data) + 24, len(GOOD).to_bytes(4, "little")))
    with bounded(3, 20):
        (message,) = everything(tmp_path / "a.zip")
    assert message == f"a.zip!a.so: damaged: unpacks to more than the {len(GOOD)} bytes that the archive declares"


def test_a_total_above_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_bytes({f"{i}.so": GOOD for i in range(10)}))
    messages = everything(tmp_path / "a.zip", Limits(total=5 * len(GOOD)))
    assert len(messages) == 5
    assert all("more than the limits allow" in m for m in messages)


def test_streams_that_unpack_without_end(tmp_path: Path) -> None:
    zeros = bytes(80 * MIB)
    for name, content in (
        ("a.tar.gz", zlib_gzip(zeros)),
        ("a.tar.bz2", bz2.compress(zeros)),
        ("a.tar.xz", lzma.compress(zeros, preset=0)),
    ):
        (tmp_path / name).write_bytes(content)
    del zeros
    for name in ("a.tar.gz", "a.tar.bz2", "a.tar.xz"):
        # Zeros end a tar: data after them is unpacked only for its checksum, with a limit.
        with bounded(5, 40):
            (message,) = everything(tmp_path / name)
        assert "zip bomb" in message


def zlib_gzip(data: bytes) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return packer.compress(data) + packer.flush()


def test_a_tar_member_of_zeros_is_a_bomb(tmp_path: Path) -> None:
    big = tar_bytes({"a.so": GOOD, "zeros": bytes(100 * MIB), "b.so": GOOD}, "w:gz")
    (tmp_path / "a.tar.gz").write_bytes(big)
    del big
    with bounded(8, 40):
        (message,) = everything(tmp_path / "a.tar.gz")
    assert "zip bomb" in message
    found, _, _ = all_of("a.tar.gz", cwd=tmp_path)
    assert [a.member for a in found] == ["a.so"]  # members before the damage are good


def test_a_tar_header_that_asks_for_gigabytes(tmp_path: Path) -> None:
    info = tarfile.TarInfo("././@PaxHeader")
    info.type, info.size = tarfile.XHDTYPE, 8 << 30
    (tmp_path / "a.tar").write_bytes(info.tobuf(tarfile.GNU_FORMAT) + bytes(10240))
    with bounded(2, 20):
        (message,) = everything(tmp_path / "a.tar")
    assert "damaged tar archive: a header of" in message


def test_an_xz_dictionary_of_gigabytes(tmp_path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    data = lzma.compress(tar_bytes({"a.so": SMALL}), filters=filters)
    # Block header: size, flags, filter id 0x21, properties size 1, dictionary size; then its CRC-32.
    at = 12
    header = bytearray(data[at : at + (data[at] + 1) * 4])
    header[header.index(b"\x21\x01") + 2] = 40  # 4 GiB - 1
    header[-4:] = zlib.crc32(bytes(header[:-4])).to_bytes(4, "little")
    (tmp_path / "a.tar.xz").write_bytes(patched(data, at, bytes(header)))
    with bounded(2, 20):
        (message,) = everything(tmp_path / "a.tar.xz")
    assert "emory" in message


def test_a_hundred_thousand_members(tmp_path: Path) -> None:
    """Only the directory, as in APPNOTE.TXT 4.3.12 to 4.3.16: members are not needed."""
    count = 100_000
    entry = b"PK\x01\x02" + bytes(24) + (6).to_bytes(2, "little") + bytes(16)
    directory = b"PK\x03\x04" + b"".join(entry + b"%06d" % number for number in range(count))
    size = len(directory) - 4
    end = b"PK\x05\x06" + bytes(4) + (10).to_bytes(2, "little") * 2
    end += size.to_bytes(4, "little") + (4).to_bytes(4, "little") + bytes(2)
    honest = b"PK\x06\x06" + bytes(20) + count.to_bytes(8, "little") * 2 + size.to_bytes(8, "little")
    honest += (4).to_bytes(8, "little") + b"PK\x06\x07" + bytes(4) + (size + 4).to_bytes(8, "little") + bytes(4)
    path = tmp_path / "a.zip"
    path.write_bytes(directory + honest + end)
    with bounded(5, 40):
        assert everything(path) == ["a.zip: an archive of 100000 members; no more than 65535 are followed"]
    path.write_bytes(directory + end)  # an end record that declares ten
    with bounded(20, 60):
        assert everything(path) == ["a.zip: an archive of more than 65535 members: not followed"]


def test_many_small_members_stay_cheap(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(
        zip_bytes({**{f"{i}.h": b"int x;" * 9 for i in range(8_000)}, "a.so": GOOD, **DIST_INFO})
    )
    with bounded(8, 60):
        assert everything(tmp_path / "a.zip") == []


@pytest.mark.parametrize("name", ["/etc/a.so", "../a.so", "x/../../a.so", "..\\a.so", "C:\\a.so"])
def test_names_that_lead_out(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.zip").write_bytes(zip_bytes({name: GOOD, "good.so": SMALL}))
    (tmp_path / "a.tar").write_bytes(tar_bytes({name: GOOD, "good.so": SMALL}))
    for archive in ("a.zip", "a.tar"):
        found, (error,), _ = all_of(archive, cwd=tmp_path)
        assert [a.member for a in found] == ["good.so"]
        assert error.path == f"{archive}!{name}"
        assert "leads out of the archive" in error.message


def test_an_encrypted_member(tmp_path: Path) -> None:
    data = one_so()
    data = patched(data, 6, b"\x01")
    (tmp_path / "a.zip").write_bytes(patched(data, directory_at(data) + 8, b"\x01"))
    assert everything(tmp_path / "a.zip") == ["a.zip!a.so: encrypted: decrypt it first"]


def test_a_method_that_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_bytes({"a.so": GOOD}, zipfile.ZIP_LZMA))
    assert everything(tmp_path / "a.zip") == [
        "a.zip!a.so: packed with method 14 (LZMA), which is not supported: unpack it first"
    ]


def test_a_wrong_checksum(tmp_path: Path) -> None:
    data = one_so()
    (tmp_path / "a.zip").write_bytes(patched(data, directory_at(data) + 16, b"\0\0\0\0"))
    assert everything(tmp_path / "a.zip") == [
        "a.zip!a.so: damaged: its checksum (CRC-32) is not the one in the archive"
    ]


def test_two_members_of_one_name(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(buffer, "w") as archive:
        warnings.simplefilter("ignore")
        archive.writestr("a.so", GOOD)
        archive.writestr("a.so", SMALL)
    (tmp_path / "a.zip").write_bytes(buffer.getvalue())
    found, (error,), _ = all_of("a.zip", cwd=tmp_path)
    assert "two members of this name" in error.message
    # zipfile, and so every installer written in Python, uses the last.
    assert [content_of(a) for a in found] == [zipfile.ZipFile(tmp_path / "a.zip").read("a.so")]


def test_another_name_in_the_local_header(tmp_path: Path) -> None:
    data = one_so()
    (tmp_path / "a.zip").write_bytes(patched(data, 30, b"b"))
    (message,) = everything(tmp_path / "a.zip")
    assert "another name" in message


def test_many_errors_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_bytes({f"{i}.so": b"text" for i in range(1000)}))
    (message,) = everything(tmp_path / "a.zip")
    assert message == "a.zip: 1000 members, 0.so the first: not an ELF file: it is text"


def test_a_directory_that_is_gone_or_elsewhere(tmp_path: Path) -> None:
    data = one_so()
    end = data.rindex(b"PK\x05\x06")
    for broken in (
        data[:-22],
        patched(data, end + 16, b"\xff\xff\xff\x7f"),
        patched(data, end + 12, b"\xff\xff\xff\x7f"),
        patched(data, directory_at(data), b"XX"),
        patched(data, end + 10, b"\x07\0"),
        patched(data, directory_at(data) + 42, b"\x05"),
        patched(data, 0, b"PK\x03\x05"),
    ):
        (tmp_path / "a.zip").write_bytes(broken)
        messages = everything(tmp_path / "a.zip")
        assert messages
        assert all("\n" not in m for m in messages)


ARCHIVES = {
    "a.zip": zip_bytes({"a.so": SMALL, "b.txt": b"text" * 50, "inner.zip": zip_bytes({"c.so": SMALL}), **DIST_INFO}),
    "a.tar": tar_bytes({"a.so": SMALL, "b.txt": b"text"}),
    "a.tar.gz": tar_bytes({"a.so": SMALL, "b.txt": b"text"}, "w:gz"),
    "a.tar.bz2": tar_bytes({"a.so": SMALL}, "w:bz2"),
    "a.tar.xz": tar_bytes({"a.so": SMALL}, "w:xz"),
}


@pytest.mark.parametrize("name", ARCHIVES)
def test_cut_off_anywhere(tmp_path: Path, name: str) -> None:
    data = ARCHIVES[name]
    complete = 1536 * 4 + len(SMALL) if name == "a.tar" else len(data)
    for size in range(1, min(len(data), complete), max(1, len(data) // 150)):
        (tmp_path / name).write_bytes(data[:size])
        messages = everything(tmp_path / name)
        if name != "a.tar" or size < len(SMALL):
            assert messages, size


@pytest.mark.parametrize("name", ARCHIVES)
def test_flipped_anywhere(tmp_path: Path, name: str) -> None:
    """Any single wrong byte: a line or a result, no traceback, no hang."""
    data = ARCHIVES[name]
    source = random.Random(20)
    for _ in range(150):
        at = source.randrange(len(data))
        (tmp_path / name).write_bytes(patched(data, at, bytes([data[at] ^ (1 << source.randrange(8))])))
        with bounded(5, 300):
            everything(tmp_path / name)


def test_noise_behind_every_magic(tmp_path: Path) -> None:
    source = random.Random(21)
    for magic in (b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"):
        for size in (0, 1, 20, 600, 5000):
            (tmp_path / "a").write_bytes(magic + source.randbytes(size))
            assert everything(tmp_path / "a"), (magic, size)


# --- links and special members of tar archives ------------------------------------------------------------------------


def _tar_of(path: Path, *entries: tuple[str, bytes, str], members: dict[str, bytes] | None = None) -> None:
    """A tar archive of regular members followed by (name, type, link target) entries."""
    with tarfile.open(path, "w") as archive:
        for name, content in (members or {}).items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for name, kind, target in entries:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            archive.addfile(info)


@pytest.mark.parametrize(
    ("kind", "target", "said"),
    [
        (tarfile.LNKTYPE, "lib/absent.so", "is not in the archive: not checked"),
        (tarfile.SYMTYPE, "absent.so", "is not in the archive: not checked"),
        (tarfile.SYMTYPE, "/usr/lib/libc.so.6", "is not in the archive: not checked"),
        (tarfile.SYMTYPE, "../../libc.so.6", "is not in the archive: not checked"),
        (tarfile.SYMTYPE, "x.so", "is not in the archive: not checked"),  # itself
        (tarfile.LNKTYPE, "lib/notes.txt", "not a shared object"),
        (tarfile.CHRTYPE, "", "a character device"),
        (tarfile.BLKTYPE, "", "a block device"),
        (tarfile.FIFOTYPE, "", "a named pipe"),
        (b"Q", "", "unknown type"),
    ],
)
def test_a_tar_member_of_another_type_is_reported(tmp_path: Path, kind: bytes, target: str, said: str) -> None:
    _tar_of(tmp_path / "a.tar", ("lib/x.so", kind, target), members={"lib/good.so": SMALL, "lib/notes.txt": b"text"})
    found, errors, _ = all_of("a.tar", cwd=tmp_path)
    assert [a.member for a in found] == ["lib/good.so"]
    assert [e.path for e in errors] == ["a.tar!lib/x.so"]
    assert said in errors[0].message


def test_links_inside_of_a_tar_lead_to_their_members(tmp_path: Path) -> None:
    """tar(5): a hard link is relative to the top of the archive, a symbolic one to its own folder."""
    _tar_of(
        tmp_path / "a.tar",
        ("lib/hard.so", tarfile.LNKTYPE, "lib/good.so"),
        ("other", tarfile.SYMTYPE, "lib"),
        ("bin/soft.so.1", tarfile.SYMTYPE, "../other/hard.so"),
        ("bin/soft.so", tarfile.SYMTYPE, "soft.so.1"),
        members={"lib/good.so": SMALL},
    )
    (artifact,), errors, _ = all_of("a.tar", cwd=tmp_path)
    assert not errors
    assert {name for name in ("hard.so", "soft.so.1", "soft.so") if artifact.group.named(name) == (artifact,)} == {
        "hard.so",
        "soft.so.1",
        "soft.so",
    }


def test_many_links_are_counted_and_not_listed(tmp_path: Path) -> None:
    with bounded(20, 60):
        _tar_of(tmp_path / "a.tar", *((f"x{n}.so", tarfile.LNKTYPE, f"y{n}.so") for n in range(2000)))
        _, errors, _ = all_of("a.tar", cwd=tmp_path)
    assert len(errors) == 1
    assert "2000 members" in errors[0].message


def test_the_second_member_of_a_name_is_reported(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for content in (SMALL, GOOD):
            info = tarfile.TarInfo("x.so")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    _, errors, _ = all_of("a.tar", cwd=tmp_path)
    assert "two members of this name" in errors[0].message


def test_a_name_longer_than_any_path_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(zip_bytes({"a" * 5000 + ".so": SMALL}))
    _, (error,), _ = all_of("a.zip", cwd=tmp_path)
    assert "a name of 5003 characters" in error.message
    assert len(error.path) < 200
