"""Real wheels, read from the archive and as pip unpacks them: the same facts for each file."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.elf import open_elf
from abiscan.inputs import Artifact, expand
from tests.corpus.fetch import corpus_dir

pytestmark = pytest.mark.corpus
WHEELS = sorted(
    p for p in corpus_dir().glob("*.whl") if (corpus_dir() / "unpacked" / p.name.removesuffix(".whl")).is_dir()
)


@pytest.mark.parametrize("wheel", WHEELS, ids=lambda p: p.name)
def test_facts_are_those_of_the_unpacked_file(wheel: Path) -> None:
    if wheel.stat().st_size > 150 << 20:
        pytest.skip("takes a minute and shows nothing more")
    unpacked = corpus_dir() / "unpacked" / wheel.name.removesuffix(".whl")
    seen = 0
    for item in expand([str(wheel)], cwd=str(wheel.parent)):
        if not isinstance(item, Artifact):
            assert "pure Python" in item.message
            continue
        seen += 1
        assert item.install_path is not None
        on_disk = (
            open_elf(unpacked / item.install_path, item.display) if not item.install_path.startswith("..") else None
        )
        if on_disk is not None:
            assert item.open().facts() == on_disk.facts()
            assert item.size == on_disk.image.size
    names = {p.relative_to(unpacked).as_posix() for p in unpacked.rglob("*.so*") if p.is_file() and not p.is_symlink()}
    assert seen >= len(names)
