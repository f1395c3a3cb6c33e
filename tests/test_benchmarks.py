"""The benchmark runs and its table is complete; the values are not checked."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
@pytest.mark.torch
def test_the_small_table_is_whole() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.table", "--small"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    table = [line.strip("|").split("|") for line in done.stdout.splitlines() if line.startswith("| ")][2:]
    rows = [[cell.strip() for cell in line] for line in table]
    by_name: dict[str, list[str]] = {}
    for row in rows:
        assert len(row) == 7, row
        assert float(row[2]) > 0, row
        each_further = row[0].startswith("each further of 4 files")
        assert row[4:] == ["-", "-", "-"] if each_further else int(row[6]) > 1, row
        by_name.setdefault(row[0].split(" (")[0], []).append(row[1])
    assert set(by_name) == {
        "a good file",
        "a bad file",
        "4 files",
        "made",
        "growth with files",
        "growth with imports",
        "growth with builds",
        "each further of 4 files, mean",
        "each further of 4 files, median",
    }
    assert by_name["made"] == ["zlib", "abiscan", "abiscan -j 1"]
    assert "import torch, dlopen" in by_name["a bad file"]


@pytest.mark.slow
def test_the_table_by_file_is_whole() -> None:
    fixture = ROOT / "tests" / "fixtures" / "gcc-const-data-ptr.so"
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.files", "--runs", "1", fixture],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in done.stdout.splitlines()[2:]]
    assert [row[1] for row in rows][:2] == ["floor", "abiscan"]
    assert all(len(row) == 6 and row[0] == "fixtures/gcc-const-data-ptr.so" and int(row[2]) > 0 for row in rows)
    assert rows[0][3] == "1.00"
