"""Every printed sentence, summary and fix is true for its file (`evidence.py` has the table)."""

from __future__ import annotations

import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from msgspec import Struct

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.installed_torch import find_torches
from abiscan.environment.python import PythonEnvironment, read_environment
from abiscan.loader import LoaderSettings
from abiscan.model.report import ArtifactVerdict, Report
from abiscan.releases import ReleaseIndex
from tests import torch_here
from tests.corpus.fetch import corpus_dir
from tests.diagnosis.evidence import CPU_BUILD, GROUP_SENTENCES, SENTENCES
from tests.diagnosis.evidence_check import Untrue, check
from tests.diagnosis.oracles import Libraries, Sight

FIXTURES = Path(__file__).parents[1] / "fixtures"
RELEASES = ("2.0.1", "2.4.1", "2.6.0", "2.8.0", "2.13.0", "2.15.0")


def _checked(report: Report, folder: Path, sight: Sight, met: set[str]) -> list[Untrue]:
    return [
        untrue for artifact in report.artifacts if artifact.causes for untrue in check(artifact, folder, sight, met)
    ]


def _scanned(names: list[str], folder: Path, torch: str | None, environment: PythonEnvironment | None = None) -> Report:
    return scan(names, ScanOptions(torch, environment, LoaderSettings(str(folder))))


def _fixtures() -> list[str]:
    return sorted(str(path.relative_to(FIXTURES)) for path in (*FIXTURES.glob("*.so"), *FIXTURES.glob("causes/*.so")))


def _told(untrue: list[Untrue]) -> str:
    return "\n".join(dict.fromkeys(map(str, untrue)))


def _wheel(folder: Path) -> str:
    """A wheel for CPython 3.9: an extension module, and one whose sibling does not load."""
    name = "x-1.0-cp39-cp39-manylinux_2_28_x86_64.whl"
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.write(FIXTURES / "causes/blurry.so", "x/_C.cpython-39-x86_64-linux-gnu.so")
        archive.write(FIXTURES / "needs-broken-sibling.so", "x/_D.so")
        archive.write(FIXTURES / "causes/scale_cpu.cpython-39-x86_64-linux-gnu.so", "x/clang-const-data-ptr.so")
        archive.writestr("x-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: x\nVersion: 1.0\n")
    return name


class Asked(Struct, frozen=True):
    """Untrue sentences about the fixtures, by checked torch, and the checked rows."""

    untrue: dict[str, list[Untrue]]
    met: set[str]


@pytest.fixture(scope="module")
def asked(index: ReleaseIndex, torch_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """Every fixture with every torch."""
    met: set[str] = set()
    untrue = {
        torch: _checked(_scanned(_fixtures(), FIXTURES, torch), FIXTURES, Sight(index), met) for torch in RELEASES
    }
    environment = read_environment(str(torch_python))
    (torch,) = map(Path, find_torches(environment))
    with closing(Libraries(torch / "lib")) as libraries:
        sight = Sight(index, torch, libraries, sys.version_info[:2])
        report = _scanned(_fixtures(), FIXTURES, None, environment)
        untrue["installed"] = _checked(report, FIXTURES, sight, met)
    folder = tmp_path_factory.mktemp("wheel")
    report = _scanned([_wheel(folder)], folder, "2.8.0", environment)
    untrue["wheel"] = _checked(report, folder, Sight(index), met)
    return Asked(untrue, met)


@pytest.mark.torch
@pytest.mark.parametrize("torch", [*RELEASES, "installed"])
def test_every_sentence_about_the_fixtures_is_true(torch: str, asked: Asked) -> None:
    assert not asked.untrue[torch], _told(asked.untrue[torch])


@pytest.mark.torch
def test_every_sentence_about_a_wheel_for_another_python_is_true(asked: Asked) -> None:
    """The Python of its tag decides, not the one that runs abiscan; and a sibling's needs are not those of the file."""
    assert not asked.untrue["wheel"], _told(asked.untrue["wheel"])


@pytest.mark.torch
def test_every_row_was_checked(asked: Asked) -> None:
    """A condition that no file triggers cannot fail."""
    here = ("", CPU_BUILD) if torch_here.version()[1] == "cpu" else ("",)
    shown = {row.says for row in (*SENTENCES, *GROUP_SENTENCES) if row.needs in here}
    assert sorted(shown - asked.met) == []


@pytest.mark.corpus
@pytest.mark.parametrize("torch", [None, "2.6.0", "2.13.0"])
def test_every_sentence_about_published_wheels_is_true(torch: str | None, index: ReleaseIndex) -> None:
    """With only the wheel's path, and on two releases; and a file that loads has no cause."""
    met: set[str] = set()
    untrue: list[Untrue] = []
    blamed: list[str] = []
    for wheel in sorted(corpus_dir().glob("*.whl")):
        report = _scanned([wheel.name], corpus_dir(), torch)
        untrue += _checked(report, corpus_dir(), Sight(index), met)
        blamed += [a.display for a in report.artifacts if a.causes and a.verdict is not ArtifactVerdict.FAILS]
    assert not untrue, _told(untrue)
    assert not blamed
    assert len(met) > 20
