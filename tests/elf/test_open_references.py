"""References that may be defined nowhere are found once for each version of a file on disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from abiscan.binary import open_binary
from abiscan.elf import ElfFile, dynamic_file, open_elf
from abiscan.elf.symbols import SymbolTable

FIXTURES = Path(__file__).parents[1] / "fixtures"


def test_a_file_is_searched_again_only_after_a_change(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    searched: list[SymbolTable] = []
    search = SymbolTable.open_references
    monkeypatch.setattr(dynamic_file, "_MANY_REFERENCES", 0)
    monkeypatch.setattr(
        SymbolTable, "open_references", lambda table, *of, **how: (searched.append(table), search(table, *of, **how))[1]
    )
    path = tmp_path / "x.so"
    shutil.copy(FIXTURES / "good-extension.so", path)
    first, second = open_elf(path), open_binary(path)
    assert isinstance(second, ElfFile)
    assert first.open_references
    assert first.open_references == second.open_references
    assert len(searched) == 1
    os.utime(path, ns=(0, 1))
    assert open_elf(path).open_references == first.open_references
    assert len(searched) == 2
    shutil.copy(FIXTURES / "gcc-const-data-ptr.so", path)
    assert open_elf(path).open_references != first.open_references
