"""The downloader: places of a wheel's members, and omitted members."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

import pytest

from tests.corpus import fetch
from tests.corpus.wheels import WHEELS, Wheel


def test_a_wheel_is_unpacked_as_it_would_be_installed(tmp_path: Path, fixtures_dir: Path) -> None:
    library = (fixtures_dir / "weak-import.so").read_bytes()
    wheel = tmp_path / "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("thing/_C.so", library)
        archive.writestr("thing/__init__.py", "")
        archive.writestr("thing/weights.bin", b"\0" * 100)
        archive.writestr("thing-1.0.data/platlib/top.so", library)
        archive.writestr("thing-1.0.data/scripts/run.py", "")
        archive.writestr("thing-1.0.dist-info/METADATA", "Name: thing\n")
        archive.writestr("../outside.py", "")
    target = fetch.unpack(wheel, tmp_path / "unpacked")
    found = {str(path.relative_to(target)) for path in target.rglob("*") if path.is_file()}
    assert found == {"thing/_C.so", "thing/__init__.py", "top.so", "thing-1.0.dist-info/METADATA"}
    assert not (tmp_path / "unpacked" / "outside.py").exists()
    assert [path.name for path in fetch.shared_objects(target)] == ["_C.so", "top.so"]


def test_only_shared_objects_are_listed(tmp_path: Path, fixtures_dir: Path) -> None:
    for name in ("weak-import.so", "big-endian-s390x.so", "i386.so", "bad/object.o", "bad/text.so", "bad/core"):
        shutil.copy(fixtures_dir / name, tmp_path / (name.replace("/", "-") + ".so.1"))
    names = [path.name for path in fetch.shared_objects(tmp_path)]
    assert names == ["big-endian-s390x.so.so.1", "i386.so.so.1", "weak-import.so.so.1"]


def test_a_wheel_with_another_digest_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def bring(command: list[str], **_: object) -> object:
        Path(command[command.index("-d") + 1], "thing-1.0-py3-none-any.whl").write_bytes(b"other")
        return type("Done", (), {"stderr": ""})

    monkeypatch.setattr("subprocess.run", bring)
    with pytest.raises(RuntimeError, match="its SHA-256 is"):
        fetch.download(Wheel("thing-1.0-py3-none-any.whl", "0" * 64, 1), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_pip_downloads_the_listed_one_of_several_builds() -> None:
    """pip prefers the platform that is named first."""
    assert Wheel("regex-2-cp311-cp311-manylinux2014_x86_64.manylinux_2_28_x86_64.whl", "", 1).platforms == (
        "manylinux_2_28_x86_64",
        "manylinux2014_x86_64",
    )
    assert Wheel("thing-1.0-py3-none-any.whl", "", 1).platforms == ("any",)


def test_every_wheel_is_named_once() -> None:
    assert len({wheel.file for wheel in WHEELS}) == len(WHEELS)
    assert all(wheel.file.endswith(".whl") and len(wheel.sha256) == 64 for wheel in WHEELS)
