"""Every sentence, summary and fix that is printed of a file is true in that very case (`evidence.py` has the table)."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.installed_torch import find_torches
from abiscan.environment.python import PythonEnvironment, read_environment
from abiscan.loader import LoaderSettings
from abiscan.model.report import ArtifactVerdict, Report
from abiscan.releases import ReleaseIndex
from tests.corpus.fetch import corpus_dir
from tests.diagnosis.evidence_check import Untrue, check, member_bytes
from tests.diagnosis.oracles import Libraries, Sight, read_elf

FIXTURES = Path(__file__).parents[1] / "fixtures"
RELEASES = ("2.0.1", "2.4.1", "2.6.0", "2.8.0", "2.13.0", "2.15.0")


def _checked(report: Report, folder: Path, sight: Sight, met: set[str]) -> list[Untrue]:
    return [
        untrue
        for artifact in report.artifacts
        if artifact.causes
        for untrue in check(artifact, read_elf(member_bytes(artifact, folder)), sight, met)
    ]


def _scanned(names: list[str], folder: Path, torch: str | None, environment: PythonEnvironment | None = None) -> Report:
    return scan(names, ScanOptions(torch, environment, LoaderSettings(str(folder))))


def _fixtures() -> list[str]:
    return sorted(str(path.relative_to(FIXTURES)) for path in (*FIXTURES.glob("*.so"), *FIXTURES.glob("causes/*.so")))


def _told(untrue: list[Untrue]) -> str:
    return "\n".join(dict.fromkeys(map(str, untrue)))


@pytest.mark.parametrize("torch", RELEASES)
def test_what_is_said_of_the_fixtures_on_a_release_is_true(torch: str, index: ReleaseIndex) -> None:
    met: set[str] = set()
    untrue = _checked(_scanned(_fixtures(), FIXTURES, torch), FIXTURES, Sight(index), met)
    assert not untrue, _told(untrue)
    assert len(met) > 15


def test_what_is_said_of_the_fixtures_on_the_installed_torch_is_true(index: ReleaseIndex, torch_python: Path) -> None:
    environment = read_environment(str(torch_python))
    (torch,) = map(Path, find_torches(environment))
    met: set[str] = set()
    with closing(Libraries(torch / "lib")) as libraries:
        sight = Sight(index, torch, libraries, sys.version_info[:2])
        untrue = _checked(_scanned(_fixtures(), FIXTURES, None, environment), FIXTURES, sight, met)
    assert not untrue, _told(untrue)
    assert len(met) > 15


@pytest.mark.corpus
@pytest.mark.parametrize("torch", [None, "2.6.0", "2.13.0"])
def test_what_is_said_of_published_wheels_is_true(torch: str | None, index: ReleaseIndex) -> None:
    """With nothing but the wheel's path, and on two releases; and a file that loads has no cause."""
    met: set[str] = set()
    untrue: list[Untrue] = []
    blamed: list[str] = []
    for wheel in sorted(corpus_dir().glob("*.whl")):
        report = _scanned([wheel.name], corpus_dir(), torch)
        untrue += _checked(report, corpus_dir(), Sight(index), met)
        blamed += [a.display for a in report.artifacts if a.causes and a.verdict is not ArtifactVerdict.FAILS]
    assert not untrue, _told(untrue)
    assert not blamed
    assert len(met) > 30
