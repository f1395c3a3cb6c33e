"""The matrix of real wheels compared with their own requirements: `pytest -m corpus` downloads them.

Oracle: the wheel's own `Requires-Dist: torch==X`. It was built with X, so every module in it loads on X, and no class
derives from one with another layout in X."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from email import message_from_bytes
from functools import cache
from pathlib import Path
from zipfile import ZipFile

import pytest
from packaging.requirements import Requirement

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.imports import Owner
from abiscan.model.report import ArtifactReport
from tests.corpus import fetch
from tests.corpus.wheels import WHEELS
from tests.tables import table_rows

pytestmark = pytest.mark.corpus

# Older than the oldest build in the index.
TOO_OLD = {"kaldifeat-1.4-py38-none-any.whl"}
# Members with a matrix must exist, or the tests below would check nothing.
PINNED_AT_LEAST = 70

# Wheels for aarch64 by (requirement, pinned torch).
AARCH64 = (
    "torchvision==0.17.2",
    "torchvision==0.19.0",
    "torchvision==0.22.1",
    "torchvision==0.28.0",
    "torchaudio==2.1.2",
    "torchaudio==2.4.1",
    "torchaudio==2.8.0",
)


def pinned_torch(wheel: Path) -> str | None:
    """X of `Requires-Dist: torch==X`, or None."""
    with ZipFile(wheel) as archive:
        metadata = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        fields = message_from_bytes(archive.read(metadata)).get_all("Requires-Dist") or []
    for requirement in map(Requirement, fields):
        pins = [each.version for each in requirement.specifier if each.operator == "=="]
        if requirement.name == "torch" and pins and requirement.marker is None:
            return pins[0]
    return None


@dataclass(frozen=True, slots=True)
class Member:
    """One checked module of a wheel."""

    wheel: str
    pinned: str
    report: ArtifactReport

    @property
    def loads_on(self) -> set[str]:
        assert self.report.releases is not None
        return {verdict.torch for verdict in self.report.releases if verdict.loads}

    def __str__(self) -> str:
        return f"{self.wheel}: {self.report.member}"


def reports_of(wheel: Path, torch: str) -> list[ArtifactReport]:
    """The members that import symbols of torch."""
    options = ScanOptions(torch=torch, environment=None, settings=LoaderSettings(cwd=str(wheel.parent)), matrix=True)
    report = scan([str(wheel)], options)
    assert not report.errors
    return [a for a in report.artifacts if a.releases and any(b.owner is Owner.TORCH for b in a.imports)]


@cache
def members() -> tuple[Member, ...]:
    """Every such member of the corpus, checked against the torch that its wheel pins."""
    found = []
    for wheel in WHEELS:
        if wheel.file in TOO_OLD:
            continue
        path = fetch.download(wheel, fetch.corpus_dir())
        pinned = pinned_torch(path)
        if pinned is not None:
            found += [Member(wheel.file, pinned, report) for report in reports_of(path, pinned)]
    return tuple(found)


def of(wheel: str, member: str) -> ArtifactReport:
    (path,) = [fetch.download(each, fetch.corpus_dir()) for each in WHEELS if each.file.startswith(wheel)]
    (report,) = [a for a in reports_of(path, "2.13.0") if a.member == member]
    return report


def test_every_member_loads_on_the_torch_that_its_wheel_pins() -> None:
    assert len(members()) >= PINNED_AT_LEAST
    assert [str(each) for each in members() if each.pinned not in each.loads_on] == []


def test_no_member_has_drifted_from_the_torch_that_its_wheel_pins() -> None:
    found = {str(each): f.message for each in members() for f in each.report.findings if f.rule == "vtable-drift"}
    assert found == {}
    # Some do derive from torch classes: against another torch the rule has findings.
    assert any(f.rule == "vtable-drift" for f in of("torchvision-0.19.0", "torchvision/_C.so").findings)


@table_rows
def test_ranges(wheel: str, member: str, ranges: tuple[tuple[str, str], ...]) -> None:
    assert of(wheel, member).provenance.torch_releases == ranges  # type: ignore[union-attr]


def test_a_file_named_after_its_torch_loads_on_it() -> None:
    """dgl builds one library per torch release and puts that release into its name."""
    (path,) = [fetch.download(each, fetch.corpus_dir()) for each in WHEELS if each.file.startswith("dgl-")]
    seen = 0
    for report in reports_of(path, "2.1.0"):
        named = re.search(r"_pytorch_(\d+\.\d+\.\d+)\.so$", report.member or "")
        if named:
            seen += 1
            assert named[1] in {v.torch for v in report.releases or () if v.loads}, report.member
    assert seen >= 5


@pytest.fixture(scope="module", params=AARCH64)
def arm_wheel(request: pytest.FixtureRequest) -> Path:
    directory = fetch.corpus_dir() / "aarch64"
    requirement: str = request.param
    name, version = requirement.split("==")
    if not (found := list(directory.glob(f"{name}-{version}-*aarch64.whl"))):
        directory.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:"]
        command += ["--platform=manylinux_2_28_aarch64", "--platform=manylinux2014_aarch64", "--python-version=3.11"]
        subprocess.run([*command, "-d", directory, requirement], check=True)
        found = list(directory.glob(f"{name}-{version}-*aarch64.whl"))
    return found[0]


def test_aarch64(arm_wheel: Path) -> None:
    pinned = pinned_torch(arm_wheel)
    assert pinned is not None
    reports = reports_of(arm_wheel, pinned)
    assert reports
    for report in reports:
        assert report.machine == "aarch64"
        assert pinned in {v.torch for v in report.releases or () if v.loads}, report.member
        # Resolved against that build with the index alone: all torch symbols resolve.
        torch = {b.status.value for b in report.imports if b.owner is Owner.TORCH}
        assert torch <= {"resolved", "weak"}, (report.member, torch)
        assert not [f for f in report.findings if f.rule == "vtable-drift"]
