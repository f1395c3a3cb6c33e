"""The torch of a run: a wheel or archive by its path."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from abiscan.errors import UnknownBuild
from abiscan.model.target import TorchKind
from abiscan.releases import ReleaseIndex, open_index
from abiscan.releases.add import read_archive
from abiscan.target.run_torch import find_run_torch
from abiscan.target.target_request import TargetRequest


def _no_index() -> ReleaseIndex:
    raise AssertionError("the run's own index is not needed")


@pytest.fixture
def wheel(tmp_path: Path, fixtures_dir: Path) -> Path:
    """A wheel with one library named libc10.so: a fixture, whose exports count as torch's."""
    path = tmp_path / "torch-2.6.0+cpu-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(fixtures_dir / "good-extension.so", "torch/lib/libc10.so")
        archive.writestr("torch/version.py", "__version__ = '2.6.0+cpu'\ncuda = None\n")
    return path


def test_a_wheel_is_read_once(wheel: Path, tmp_path: Path) -> None:
    seen: list[str] = []
    cache = tmp_path / "cache"

    def read(path: str) -> ReleaseIndex:
        return read_archive(Path(path), cache, seen.append)

    for _again in range(2):
        chosen = find_run_torch(TargetRequest(str(wheel)), _no_index, "x86_64", read_archive=read)
        assert (chosen.target.kind, chosen.target.version, chosen.target.variant) == (TorchKind.PATH, "2.6.0", "cpu")
        assert chosen.index is not None
        assert chosen.build is not None
    assert seen.count("libc10.so") == 1
    # New contents with the same name are read again, and so is a damaged copy.
    wheel.touch()
    find_run_torch(TargetRequest(str(wheel)), _no_index, "x86_64", read_archive=read)
    assert seen.count("libc10.so") == 2
    for kept in cache.rglob("*.idx"):
        kept.write_bytes(b"damaged")
    find_run_torch(TargetRequest(str(wheel)), _no_index, "x86_64", read_archive=read)
    assert seen.count("libc10.so") == 3


def test_without_a_cache_nothing_is_kept(wheel: Path, tmp_path: Path) -> None:
    index = read_archive(wheel, None)
    assert [build.torch for build in index.builds()] == ["2.6.0"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [wheel.name]


def test_a_path_without_torch_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.whl"
    path.write_bytes(b"no zip")
    with pytest.raises(UnknownBuild, match="neither a wheel"):
        find_run_torch(
            TargetRequest(str(path)), _no_index, "x86_64", read_archive=lambda p: read_archive(Path(p), None)
        )


@pytest.mark.parametrize("spec", [None, "declared"])
def test_a_platform_without_builds_ends_no_run(spec: str | None) -> None:
    """Files for it are checked without a torch (`resolver.released_torch`)."""
    assert not open_index().builds("win_arm64")
    assert find_run_torch(TargetRequest(spec), open_index, "win_arm64").target.machine == "x86_64"
