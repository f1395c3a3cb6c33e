"""A universal file of macOS; `llvm-lipo-19 -archs` has its parts."""

from __future__ import annotations

from pathlib import Path

from abiscan.binary import open_binary
from abiscan.binary.universal_parts import part_for, parts_of
from tests.macho.universal_bundle import write_universal_bundle


def test_every_part_can_be_read(tmp_path: Path) -> None:
    found = open_binary(write_universal_bundle(tmp_path))
    assert found.machine == "macosx_arm64"
    assert parts_of(found) == ("macosx_x86_64", "macosx_arm64")
    # `llvm-nm-19 --arch=...`: one symbol more.
    assert len(part_for(found, "macosx_x86_64").imports) == len(found.imports) + 1
    assert part_for(found, "macosx_arm64") is found
    # It has no such part.
    assert part_for(found, "win_amd64") is found


def test_another_file_has_no_parts(fixtures_dir: Path) -> None:
    found = open_binary(fixtures_dir / "good-extension.so")
    assert parts_of(found) == ()
    assert part_for(found, "macosx_arm64") is found
