"""Every wheel of the corpus: the verdict on a release agrees with the matrix, and loading files have no causes."""

from __future__ import annotations

import os

import pytest

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.loader import LoaderSettings
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from tests.corpus.fetch import corpus_dir

pytestmark = pytest.mark.corpus

RELEASES = ["1.13.1", "2.1.2", "2.4.1", "2.6.0", "2.8.0", "2.10.0", "2.13.0", "2.15.0"]


def artifacts(wheel: os.PathLike[str], torch: str | None, *, matrix: bool) -> list[ArtifactReport]:
    options = ScanOptions(torch, None, LoaderSettings(os.getcwd()), matrix=matrix)
    return [a for a in scan([os.fspath(wheel)], options).artifacts if a.verdict is not ArtifactVerdict.NOT_TORCH]


@pytest.mark.parametrize("wheel", sorted(corpus_dir().glob("*.whl")), ids=lambda wheel: wheel.name.split("-")[0])
def test_the_verdict_on_a_release_is_its_cell(wheel: os.PathLike[str]) -> None:
    if not artifacts(wheel, None, matrix=False):
        return
    wrong = []
    for release in RELEASES:
        for artifact in artifacts(wheel, release, matrix=True):
            if artifact.verdict is ArtifactVerdict.UNDECIDED or artifact.releases is None:
                continue
            (cell,) = [each for each in artifact.releases if each.torch == release]
            if cell.loads is not (artifact.verdict is ArtifactVerdict.LOADS):
                wrong.append((artifact.member, release, artifact.verdict, cell.state, cell.reason))
    assert wrong == []


@pytest.mark.parametrize("wheel", sorted(corpus_dir().glob("*.whl")), ids=lambda wheel: wheel.name.split("-")[0])
def test_what_loads_has_no_causes(wheel: os.PathLike[str]) -> None:
    loads = [a for a in artifacts(wheel, None, matrix=False) if a.verdict is ArtifactVerdict.LOADS]
    assert [a.display for a in loads if a.causes or a.import_causes] == []
