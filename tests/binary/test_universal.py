"""A universal file of macOS; `llvm-lipo-19 -archs` has its parts."""

from __future__ import annotations

from pathlib import Path

from abiscan.binary import open_binary
from abiscan.binary.macho_binary import MachoBinary


def test_one_part_is_read_and_the_others_are_known(fixtures_dir: Path) -> None:
    found = open_binary(fixtures_dir / "macos/universal.dylib")
    assert isinstance(found, MachoBinary)
    assert found.machine == "macosx_arm64"
    assert found.other_slices == ("x86_64",)
