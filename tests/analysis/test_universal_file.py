"""A universal file is checked part by part. Its part for x86-64 imports c10::Error::what(), which no torch for that
platform exports and which libc10.dylib for arm64 exports since 2.4.0; the other symbol is exported since 2.1.0
(`llvm-objdump-19 --exports-trie` of torch's wheels, the last for x86-64 being 2.2.2)."""

from __future__ import annotations

from pathlib import Path

import pytest

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from abiscan.report import render
from tests.analysis.test_platforms import wheel
from tests.macho.universal_bundle import write_universal_bundle
from tests.tables import table_rows

MISSING = "_ZNK3c105Error4whatEv"


def check(path: Path, torch: str | None) -> ArtifactReport:
    (found,) = scan([str(path)], ScanOptions(torch, None, LoaderSettings("/"), matrix=True)).artifacts
    return found


@pytest.fixture
def universal(tmp_path: Path) -> Path:
    return write_universal_bundle(tmp_path)


@pytest.mark.parametrize("torch", ["2.1.0", None])
def test_the_verdict_is_that_of_the_worst_part(universal: Path, torch: str | None) -> None:
    found = check(universal, torch)
    assert found.verdict is ArtifactVerdict.FAILS
    assert found.machine == "macosx_x86_64"
    assert {part.machine: part.verdict for part in found.parts} == {
        "macosx_x86_64": ArtifactVerdict.FAILS,
        "macosx_arm64": ArtifactVerdict.LOADS,
    }
    intel, arm = found.parts
    assert intel.missing == (MISSING,)
    assert arm.missing == ()
    assert arm.loads_on is not None
    assert (intel.loads_on, arm.loads_on[0]) == ((), "2.1.0")
    # Each against the newest torch for its platform.
    assert (intel.torch, arm.torch) == (("2.1.0+cpu",) * 2 if torch else ("2.2.2+cpu", "2.15.0+cpu"))


def test_a_platform_without_the_target_torch_does_not_count(universal: Path) -> None:
    found = check(universal, "2.8.0")
    assert found.verdict is ArtifactVerdict.LOADS
    assert {part.machine: part.verdict for part in found.parts} == {
        "macosx_x86_64": None,
        "macosx_arm64": ArtifactVerdict.LOADS,
    }


@table_rows
def test_the_parts_are_those_of_the_tags(
    universal: Path, tmp_path: Path, tag: str, machines: list[str], verdict: ArtifactVerdict
) -> None:
    """The wheel requires torch 2.8 or newer, which has no build for x86-64."""
    found = check(wheel(tmp_path, tag, {f"demo/{universal.name}": universal}), None)
    assert [part.machine for part in found.parts] == machines
    assert found.verdict is verdict


@table_rows
def test_the_parts_are_reported(universal: Path, name: str, words: str) -> None:
    report = scan([str(universal)], ScanOptions("2.1.0", None, LoaderSettings("/")))
    assert words in " ".join(render(name, report).split())
