"""Paths of a file system in a directory, as in path_resolution(7) for a process with that root.

18,000 random paths over random links were compared with openat2(2) and RESOLVE_IN_ROOT: the only difference was a slash
after the name of a file. A kernel may lack that call, or a sandbox forbid it, so expected values are from the
manual."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from abiscan.filesystem import HERE, FileSystem
from tests.tables import table_rows


@pytest.fixture
def farm(tmp_path: Path) -> FileSystem:
    root = tmp_path / "outer" / "image"
    (root / "usr/lib").mkdir(parents=True)
    (root / "usr/lib/x.so").write_bytes(b"inside")
    (root / "etc").mkdir()
    (root / "etc/passwd").write_bytes(b"inside")
    (tmp_path / "outer/x.so").write_bytes(b"outside")
    links = {
        "lib": "usr/lib",
        "absolute": "/etc/passwd",
        "upward": "../../../../../../../../etc/passwd",
        "usr/below": "../../etc/./passwd",
        "chain": "/usr/below",
        "host": f"{tmp_path}/outer/x.so",
        "loop": "/pool",
        "pool": "loop",
        "itself": "itself",
        "through": "usr/lib/x.so/../x.so",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    return FileSystem(str(root), "image")


@table_rows
def test_what_is_there(farm: FileSystem, path: str, expected: str) -> None:
    assert farm.real(path) == expected
    assert farm.host(path) == farm.root + expected
    assert farm.exists(path)


@pytest.mark.parametrize("path", ["/host", "/../x.so", "/nothing/../etc/passwd", "/etc/passwd/..", "/through"])
def test_what_is_not_there(farm: FileSystem, path: str) -> None:
    """The host has a file of that path: it must not be used for the image."""
    assert not farm.exists(path)
    assert farm.read(path, 100) is None


@pytest.mark.parametrize(
    ("path", "number"), [("/loop", errno.ELOOP), ("/itself/x", errno.ELOOP), ("/" + "a/" * 4096, errno.ENAMETOOLONG)]
)
def test_what_leads_nowhere(farm: FileSystem, path: str, number: int) -> None:
    with pytest.raises(FileNotFoundError) as raised:
        farm.host(path)
    assert raised.value.errno == number
    assert not farm.exists(path)
    assert not farm.is_file(path)
    assert not farm.is_directory(path)


def test_a_link_is_named_wherever_it_leads(farm: FileSystem) -> None:
    assert farm.is_named("/loop")
    assert farm.is_named("/host")
    assert not farm.is_named("/nothing")


def test_a_fifo_is_not_read(farm: FileSystem) -> None:
    os.mkfifo(f"{farm.root}/etc/ld.so.preload")
    assert farm.read("/etc/ld.so.preload", 10) is None


def test_what_a_user_means(farm: FileSystem, tmp_path: Path) -> None:
    outer = str(tmp_path / "outer")
    assert farm.inside("image/usr/lib/x.so", outer) == "/usr/lib/x.so"
    assert farm.inside(f"{farm.root}/lib/x.so", "/") == "/lib/x.so"
    assert farm.inside("lib/x.so", farm.root) == "/lib/x.so"
    assert farm.inside("image", outer) == "/"
    assert farm.inside("/usr/lib/x.so", outer) == "/usr/lib/x.so"
    assert farm.inside("image/nothing", outer) == "image/nothing"
    assert farm.inside("numpy", farm.root) == "numpy"  # a package
    assert HERE.inside("x.so", outer) == "x.so"
