"""Every corpus file checked twice: against build 2.13.0 of the index, and against the wheel that it was made from.
`pytest -m index` downloads the wheel (0.5 GB), keeps its libraries for the run and deletes them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.python import read_environment
from abiscan.loader import LoaderSettings
from abiscan.model.imports import CheckedImport, Owner
from abiscan.model.report import ArtifactReport
from tests.corpus import fetch
from tests.corpus.wheels import WHEELS

pytestmark = pytest.mark.index

VERSION = "2.13.0"
WHEEL = "torch-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """torch/lib and torch/version.py of the CUDA wheel; ABISCAN_TORCH_2_13 names an existing one."""
    if kept := os.environ.get("ABISCAN_TORCH_2_13"):
        yield Path(kept)
        return
    directory = tmp_path_factory.mktemp("torch")
    # A pip that prefers local wheels would find another build of the same version.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIP_FIND_LINKS")}
    environment["PIP_CONFIG_FILE"] = os.devnull
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", str(directory)]
    command += ["--python-version=3.11", "--platform=manylinux_2_28_x86_64", f"torch=={VERSION}"]
    subprocess.run(command, env=environment, check=True)
    with ZipFile(directory / WHEEL) as archive:
        wanted = [m for m in archive.namelist() if m.startswith("torch/lib/") and ".so" in m]
        archive.extractall(directory, [*wanted, "torch/version.py"])
    (directory / WHEEL).unlink()
    yield directory / "torch"
    for file in (directory / "torch" / "lib").iterdir():
        file.unlink()


def reports_of(torch: str) -> dict[tuple[str, str | None], ArtifactReport]:
    directory = fetch.corpus_dir()
    wheels = [str(fetch.download(wheel, directory)) for wheel in WHEELS]
    options = ScanOptions(
        torch=torch, environment=read_environment(sys.prefix), settings=LoaderSettings(cwd=str(directory))
    )
    return {(a.path, a.member): a for a in scan(wheels, options).artifacts}


def of_torch(report: ArtifactReport, also: ArtifactReport) -> dict[str, tuple[str, str, str | None]]:
    """Status, owner and provider of every import that either result assigns to torch."""
    names = {b.name for a in (report, also) for b in a.imports if b.owner is Owner.TORCH}
    return {b.name: _told(b) for b in report.imports if b.name in names}


def _told(bound: CheckedImport) -> tuple[str, str, str | None]:
    provider = bound.provider.rpartition("/")[2] if bound.provider is not None else None
    return bound.status.value, bound.owner.value, provider


def test_every_corpus_file_has_the_same_result(unpacked: Path) -> None:
    by_wheel, by_index = reports_of(str(unpacked)), reports_of(VERSION)
    assert by_wheel.keys() == by_index.keys()
    verdicts = {key: (a.verdict, by_index[key].verdict) for key, a in by_wheel.items()}
    assert {key: both for key, both in verdicts.items() if both[0] is not both[1]} == {}
    compared = 0
    different = []
    for key, one in by_wheel.items():
        other = by_index[key]
        first, second = of_torch(one, other), of_torch(other, one)
        compared += len(first)
        different += [(key, name, first[name], second[name]) for name in first if first[name] != second[name]]
    assert different == []
    # 14,424 when the corpus had 1,354 shared objects.
    assert compared > 10_000
