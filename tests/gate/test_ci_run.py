"""A release in CI, with a compiler: a baseline, a rebuild elsewhere with one new bad call, then the call removed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from abiscan.cli import main

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

HEAD = """
namespace at { struct TensorBase {
  template <class T> T* data_ptr() const;   // every release exports data_ptr<float>
  void never_released() const;              // no release exports these two
  void nor_was_this() const;
}; }
"""
BEFORE = HEAD + "float* f(at::TensorBase& t) { t.never_released(); return t.data_ptr<float>(); }"
# Code before it moves all offsets.
AFTER = (
    HEAD
    + "int padding[64]; int pad(int n) { for (int i = 0; i < 64; ++i) padding[i] += n; return padding[n & 63]; }"
    + "float* f(at::TensorBase& t) { t.nor_was_this(); t.never_released(); return t.data_ptr<float>(); }"
)
FIXED = HEAD + "float* f(at::TensorBase& t) { return t.data_ptr<float>(); }"

KNOWN, NEW = "_ZNK2at10TensorBase14never_releasedEv", "_ZNK2at10TensorBase12nor_was_thisEv"


def build(folder: Path, source: str, flags: str = "-O0") -> Path:
    folder.mkdir(parents=True)
    # An empty library replaces torch's: only the needed library counts.
    torch = folder / "libtorch_cpu.so"
    subprocess.run(["g++", "-shared", "-Wl,-soname,libtorch_cpu.so", "-x", "c++", "-o", torch, os.devnull], check=True)
    (folder / "ext.cpp").write_text(source, encoding="utf-8")
    output = folder / "_C.cpython-311-x86_64-linux-gnu.so"
    link = ["-Wl,--no-as-needed", "-L", folder, "-ltorch_cpu"]
    subprocess.run(["g++", "-shared", "-fPIC", flags, "-o", output, folder / "ext.cpp", *link], check=True)
    return output


def scan(folder: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    report = folder / "report.json"
    with pytest.raises(SystemExit) as left:
        main(["scan", "--torch", "2.13.0", "-q", "-f", f"json:{report}", *arguments])
    assert isinstance(left.value.code, int)
    return left.value.code, json.loads(report.read_text(encoding="utf-8"))


def standing(report: dict[str, Any]) -> list[tuple[str, str]]:
    return [
        (f["rule"], f["symbol"])
        for a in report["artifacts"]
        for f in a["findings"]
        if not f["suppressed"] and f["severity"] == "error"
    ]


def test_only_the_new_call_fails_and_a_removed_one_is_stale(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    baseline = str(tmp_path / "baseline.json")
    first = build(tmp_path / "one", BEFORE)
    status, report = scan(tmp_path, str(first))
    assert (status, {symbol for _, symbol in standing(report)}) == (1, {KNOWN})
    assert scan(tmp_path, str(first), "--write-baseline", baseline)[0] == 0
    assert scan(tmp_path, str(first), "--baseline", baseline)[0] == 0

    rebuilt = build(tmp_path / "another" / "checkout", AFTER, "-O2")
    status, report = scan(tmp_path, str(rebuilt), "--baseline", baseline)
    assert status == 1
    assert {symbol for _, symbol in standing(report)} == {NEW}
    assert report["stale"] == []

    fixed = build(tmp_path / "fixed", FIXED)
    status, report = scan(tmp_path, str(fixed), "--baseline", baseline)
    assert (status, standing(report)) == (1, [])
    assert report["stale"]
    assert any(KNOWN in entry["entry"] and entry["fails"] for entry in report["stale"])
    assert scan(tmp_path, str(fixed), "--baseline", baseline, "--no-stale")[0] == 0
    capsys.readouterr()
