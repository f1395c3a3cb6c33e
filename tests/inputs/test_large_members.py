"""Members that are too large to be held in memory."""

from __future__ import annotations

import os
import resource
import struct
import sys
import tarfile
import zipfile
import zlib
from pathlib import Path

import pytest

from abiscan.binary import open_binary
from abiscan.errors import UnreadableFile
from abiscan.inputs import Artifact, cache, expand, unpacked
from abiscan.inputs.cache import KeptFiles
from abiscan.inputs.unpacked import Unpacked, in_part
from tests.inputs.kit import FIXTURES
from tests.programs import run_abiscan, run_program

pytestmark = pytest.mark.slow

SMALL = FIXTURES / "gcc-const-data-ptr.so"
# Memory limit of a run in SECURITY.md, in MiB; and twice as much, in bytes.
MOST = 256
LARGE = 512 << 20
# Prints on its last line the peak memory of this process and the one that it reads files in, in MiB: VmHWM of
# proc_pid_status(5), since ru_maxrss includes that of the parent; and ru_maxrss of its children, one at a time.
MEASURED = r"""
import re, resource, sys
from abiscan.cli import main
status = 0
try:
    status = main(sys.argv[1:])
except SystemExit as done:
    status = done.code
kib = re.search(r"VmHWM:\s*(\d+) kB", open("/proc/self/status").read())[1]
kib = int(kib) + resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(status, kib >> 10, file=sys.stderr)
"""


def stored(path: Path, name: str, head: bytes, size: int) -> None:
    """A zip archive with one stored member: `head`, then zeros up to `size`, which use no disk space."""
    checksum = zlib.crc32(head)
    zeros = bytes(1 << 20)
    left = size - len(head)
    while left:
        checksum = zlib.crc32(zeros[: min(left, len(zeros))], checksum)
        left -= min(left, len(zeros))
    raw = name.encode()
    local = struct.pack("<4s5H3I2H", b"PK\3\4", 20, 0, 0, 0, 33, checksum, size, size, len(raw), 0) + raw
    entry = struct.pack("<4s6H3I5H2I", b"PK\1\2", 20, 20, 0, 0, 0, 33, checksum, size, size, len(raw), 0, 0, 0, 0, 0, 0)
    with path.open("wb") as file:
        file.write(local + head)
        file.seek(len(local) + size)
        file.write(entry + raw)
        file.write(struct.pack("<4s4H2IH", b"PK\5\6", 0, 0, 1, 1, len(entry) + len(raw), len(local) + size, 0))
    assert zipfile.ZipFile(path).getinfo(name).file_size == size


def run(*args: str, cwd: Path) -> tuple[int, int, str, str]:
    """(exit status, MiB, stdout, stderr)"""
    done = run_program(
        [sys.executable, "-c", MEASURED, *args], cwd=cwd, env=os.environ | {"PYTHONPATH": str(FIXTURES.parents[1])}
    )
    assert "Traceback" not in done.stderr, done.stderr[-2000:]
    status, most = done.stderr.splitlines()[-1].split()
    return int(status), int(most), done.stdout, done.stderr


@pytest.mark.parametrize("form", ["whl", "tar"])
def test_a_member_larger_than_the_memory(tmp_path: Path, form: str) -> None:
    head = SMALL.read_bytes()
    if form == "whl":
        stored(tmp_path / "x.whl", "x/_C.so", head, LARGE)
    else:
        with (tmp_path / "_C.so").open("wb") as file:
            file.write(head)
            file.truncate(LARGE)
        member = tarfile.TarInfo("x/_C.so")
        member.size = LARGE
        with (tmp_path / "x.tar").open("wb") as file:
            file.write(member.tobuf())
            file.write(head)
            file.seek(512 + LARGE)
            file.write(bytes(1024))
    status, most, out, _ = run("scan", "--torch", "2.9.0", "--matrix", f"x.{form}", cwd=tmp_path)
    alone = run_abiscan("--torch", "2.9.0", SMALL, cwd=tmp_path)
    assert status == alone.returncode, out  # padding changes nothing
    assert "x/_C.so" in out
    assert most < MOST


def test_one_that_unpacks_to_zeros_that_are_larger(tmp_path: Path) -> None:
    with (
        zipfile.ZipFile(tmp_path / "x.whl", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("x/_C.so", "w", force_zip64=True) as member,
    ):
        member.write(SMALL.read_bytes())
        for _ in range(LARGE >> 22):
            member.write(bytes(4 << 20))
    status, most, out, _ = run("scan", "--torch", "2.9.0", "x.whl", cwd=tmp_path)
    assert (status, "as a zip bomb does" in out) == (3, True)
    assert most < MOST


def test_a_full_disk_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpacked, "MAX_IN_MEMORY", 1 << 20)
    stored(tmp_path / "x.whl", "x/_C.so", SMALL.read_bytes() + os.urandom(4 << 20), 8 << 20)
    (item,) = [each for each in expand(["x.whl"], cwd=str(tmp_path)) if isinstance(each, Artifact)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    # Python ignores SIGXFSZ: the write fails with EFBIG, as with ENOSPC on a full disk.
    resource.setrlimit(resource.RLIMIT_FSIZE, (2 << 20, before[1]))
    try:
        with pytest.raises(
            UnreadableFile, match=r"^x\.whl!x/_C\.so: no space for its 8 MiB in a temporary file: "
        ) as raised:
            item.open()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "\n" not in str(raised.value)


def test_an_invalid_temporary_directory_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "nothing"))
    with pytest.raises(
        UnreadableFile, match="x: no space for its 256 MiB in a temporary file: no such file or directory"
    ):
        Unpacked(256 << 20, "x")


def test_nothing_is_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(unpacked, "MAX_IN_MEMORY", 0)
    buffer = Unpacked(100, "x")
    buffer.append(b"abc")
    assert not list(tmp_path.iterdir())
    assert buffer.buffer()[:] == b"abc" + bytes(97)


@pytest.mark.parametrize("pieces", [1, 4096, 3 << 20])
def test_what_went_to_the_disk_comes_back(monkeypatch: pytest.MonkeyPatch, pieces: int) -> None:
    monkeypatch.setattr(unpacked, "MAX_IN_MEMORY", 0)
    data = bytes(5000) + b"x" + bytes(4096) + os.urandom(50_000 if pieces == 1 else 2 << 20) + bytes(3 << 20) + b"end"
    if pieces == 1:
        data = data[:60_000]
    into = Unpacked(len(data), "x")
    for at in range(0, len(data), pieces):
        into.append(data[at : at + pieces])
    assert into.buffer()[:] == data


def test_tables_that_are_large_go_to_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    data = SMALL.read_bytes()
    ranges = [(4000, 3000), (0, 64), (5000, 10)]
    copies = [in_part(data, ranges, "x", in_memory=in_memory)[:] for in_memory in (True, False)]
    assert copies[0] == copies[1]
    assert copies[0][4000:7000] == data[4000:7000]
    assert copies[0][64:4000] == bytes(4000 - 64)
    asked: list[bool] = []

    def note(source: bytes, ranges: list[tuple[int, int]], display: str, *, in_memory: bool) -> object:
        asked.append(in_memory)
        return in_part(source, ranges, display, in_memory=in_memory)

    kept = KeptFiles(1)
    monkeypatch.setattr(cache, "in_part", note)
    tables = sum(size for _, size in open_binary(SMALL).lookup_ranges())
    monkeypatch.setattr(cache, "MAX_TABLES_IN_MEMORY", 2 * tables)
    for key in range(5):
        kept.whole(key, len(data), "x", lambda: data)
    assert asked == [True, True, False, False]


def test_one_large_file_is_kept_with_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    data = SMALL.read_bytes()
    kept = KeptFiles(3 * len(data))
    monkeypatch.setattr(cache, "MAX_IN_MEMORY", 2 * len(data))
    large = data + bytes(3 * len(data))
    unpacked: list[str] = []

    def ask(key: str, content: bytes) -> None:
        def unpack() -> bytes:
            unpacked.append(key)
            return content

        kept.whole(key, len(content), "x", unpack)

    for key, content in (("small", data), ("large", large), ("small", data), ("large", large)):
        ask(key, content)
    assert unpacked == ["small", "large"]
    for key, content in (("larger", large), ("small", data), ("larger", large), ("large", large)):
        ask(key, content)
    assert unpacked == ["small", "large", "larger", "large"]


def test_tables_without_space_are_dropped_silently(monkeypatch: pytest.MonkeyPatch) -> None:
    """When they are stored, another file is requested."""
    data = SMALL.read_bytes()
    kept = KeptFiles(1)

    def full(*_arguments: object, in_memory: bool) -> bytes:
        raise UnreadableFile("first", f"no room ({in_memory})")

    monkeypatch.setattr(cache, "in_part", full)
    unpacked: list[str] = []

    def unpack() -> bytes:
        unpacked.append("again")
        return data

    kept.whole("first", len(data), "first", unpack)
    kept.whole("second", len(data), "second", unpack)
    assert kept.tables("first", len(data), "first", unpack).size == len(data)
    assert len(unpacked) == 3
