"""Every wheel of the corpus: the report against a release is the same on every machine, except for the loader
prediction. Machines: no interpreter, two bare ones, one without any library, and an environment with torch."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.python import PythonEnvironment, read_environment
from abiscan.loader import LoaderSettings
from abiscan.model.python_version import PythonVersion
from abiscan.model.report import ArtifactReport
from tests.corpus.fetch import corpus_dir

pytestmark = pytest.mark.corpus


def bare(folder: Path, version: PythonVersion) -> PythonEnvironment:
    site = folder / str(version)
    site.mkdir(exist_ok=True)
    return PythonEnvironment(None, None, version, str(site), (str(site),), None)


def report(
    wheel: os.PathLike[str], torch: str, where: PythonEnvironment | None, settings: LoaderSettings
) -> list[ArtifactReport]:
    found = scan([os.fspath(wheel)], ScanOptions(torch, where, settings)).artifacts
    return [replace(artifact, loader=None) for artifact in found]  # type: ignore[arg-type]


@pytest.mark.parametrize("torch", ["declared", "2.8.0"])
@pytest.mark.parametrize("wheel", sorted(corpus_dir().glob("*.whl")), ids=lambda wheel: wheel.name.split("-")[0])
def test_a_report_against_a_release_does_not_depend_on_the_place(
    wheel: os.PathLike[str], torch: str, tmp_path: Path, torch_python: Path
) -> None:
    here = LoaderSettings(os.getcwd())
    (tmp_path / "poor").mkdir()
    poor = LoaderSettings(os.getcwd(), root=str(tmp_path / "poor"))
    first = report(wheel, torch, None, here)
    for where, settings in (
        (bare(tmp_path, PythonVersion(3, 11)), here),
        (bare(tmp_path, PythonVersion(3, 13)), poor),
        (read_environment(str(torch_python)), here),
    ):
        for one, other in zip(first, report(wheel, torch, where, settings), strict=True):
            assert one == other, one.display
