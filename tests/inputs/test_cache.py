"""The reduced form of a large library gives the same results for every lookup."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.elf import ElfFile, open_elf
from abiscan.elf.lookup_ranges import lookup_ranges
from abiscan.inputs.cache import KeptFiles
from tests import torch_here
from tests.inputs.kit import FIXTURES

LOADABLE = sorted(p for p in FIXTURES.glob("*.so") if "hostile" not in p.name and p.name not in {"malformed-name.so"})


def reduced(data: bytes, path: str) -> tuple[ElfFile, ElfFile]:
    """(whole file, its reduced form after its space was needed)."""
    kept = KeptFiles(1)
    whole = kept.whole(1, len(data), path, lambda: data)
    filler = (FIXTURES / "gcc-const-data-ptr.so").read_bytes()
    kept.whole(2, len(filler), "filler", lambda: filler)
    tables = kept.tables(1, len(data), path, lambda: pytest.fail("unpacked again"))
    assert tables is not whole
    return whole, tables


@pytest.mark.parametrize("path", LOADABLE, ids=lambda p: p.name)
def test_facts_and_exports_are_the_same(path: Path) -> None:
    whole, tables = reduced(path.read_bytes(), path.name)
    assert tables.facts() == whole.facts()
    assert list(tables.exports()) == list(whole.exports())
    assert tables.relocated() == whole.relocated()


@pytest.mark.torch
def test_a_library_of_torch() -> None:
    path = torch_here.library("libc10.so")
    whole, tables = reduced(path.read_bytes(), "libc10.so")
    assert tables.facts() == whole.facts()
    names = [e.name for e in whole.exports()]
    assert len(names) > 1000
    assert [tables.export(n) for n in names] == [whole.export(n) for n in names]
    assert tables.export("nothing") is None
    assert tables.names_with_prefix("_ZN3c104impl") == whole.names_with_prefix("_ZN3c104impl")


@pytest.mark.torch
def test_little_of_a_large_library_is_kept() -> None:
    elf = open_elf(torch_here.library("libtorch_cpu.so"))
    pages = {page for at, size in lookup_ranges(elf) for page in range(at >> 12, (at + size >> 12) + 1)}
    assert len(pages) << 12 < elf.image.size * 0.4


def test_the_least_recently_used_goes_first() -> None:
    data = (FIXTURES / "gcc-const-data-ptr.so").read_bytes()
    unpacked: list[int] = []
    kept = KeptFiles(2 * len(data))

    def ask(key: int) -> None:
        def unpack() -> bytes:
            unpacked.append(key)
            return data

        kept.whole(key, len(data), "x", unpack)

    for key in (1, 2, 1, 3, 1, 2):
        ask(key)
    assert unpacked == [1, 2, 3, 2]
