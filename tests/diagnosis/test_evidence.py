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
from tests.diagnosis.evidence import GROUP_SENTENCES, SENTENCES
from tests.diagnosis.evidence_check import Untrue, check
from tests.diagnosis.oracles import Libraries, Sight

FIXTURES = Path(__file__).parents[1] / "fixtures"
RELEASES = ("2.0.1", "2.4.1", "2.6.0", "2.8.0", "2.13.0", "2.15.0")
# Sentences that no fixture shows, with the torch or machine that would. The first ones need an installed CPU build, as
# in CI.
OF_A_CPU_BUILD = (
    "{label} is a CPU build.",
    "{label} is a CPU build and does not install the CUDA libraries.",
    "{label} is a CPU build: it does not load {library} into the process, as a CUDA build does.",
    "{shown} is named like the symbols of torch's {gpu} builds.",
    "{shown} is exported by {library}, which only {gpu} builds of torch contain.",
    # A CUDA build loads the libraries that export the names.
    "Every known release of {product} ({counted} {first_of}-{last_of}) exports it; older ones may not.",
    "Of the known releases ({counted} {first_of}-{last_of}), {counted_too} {spans_of} exports it.",
)
NOT_SHOWN = {
    "a torch before the index": (
        "{label} is older than {first}, the first indexed release: whether it exports the symbol is unknown.",
        "{label} is older than the index: the file may be built for an older or a newer torch.",
        "{label} is older than the index: all known releases up to {release} have that form, so it has it too.",
        "{label} is older than the index: whether it exports the class's functions is not known.",
        "{label} is older than the index: if it exports the function, it uses the other std::string, as torch from "
        "conda-forge and NVIDIA images does.",
        "torch wheels on PyPI use the old std::string up to 2.6.0: none of them exports this symbol.",
    ),
    "a torch that is no release of the index": (
        "{label} has that version but does not export it: it is a different build (source, conda, NGC, another "
        "variant).",
        "{label} is a source build or nightly, not a release: its exports may differ from every release.",
        "Against it: {label} is a nightly before {release} and may already export the symbol.",
        "Against it: its git revision {revision} is that of the release.",
        "Its git revision {revision} is not that of the release ({released}).",
        "More than one torch is installed: {paths}.",
        "Release builds of torch {torch} export this symbol; this build may not.",
        "{torch} is a nightly: symbols were marked one by one, some of them later.",
        "{shown} is exported in {library} by torch {ranges}.",
        "{shown} is exported in {library}.",
    ),
    "a library of torch 1.13 alone": (
        "The build of torch {torch} on PyPI, for CUDA 10.2 or older, does not ship it.",
        "CUDA 11 builds of that release, from download.pytorch.org or the conda channel pytorch, may ship it.",
        "CUDA 11 builds of torch up to {release} ship it; on PyPI these are torch {other}.",
    ),
    "torch's own libraries beside a newer MKL": (
        "{mangled} belongs to Intel's ITT notification library: torch from conda channels expects it in MKL.",
        "MKL 2024.1 removed this symbol: the loaded MKL is newer than the one that torch was linked with.",
    ),
    "a name that went, and came back in another library": ("{shown} is exported by torch {places}.",),
    "a file for XPU": ("{label} is not built for {gpu} and does not contain this library.",),
    "a published wheel, of the corpus": (
        "The file needs {soname}, which neither its package nor {label} provides.",
        "A library that the file needs imports from {deep}, which neither its package nor {label} provides; "
        "provided: {library}.",
        "A library that the file needs imports from {deep}, which neither its package nor {label} provides.",
    ),
    "a system of a certain age": (
        "{names} {has} glibc {version}.",
        "The loaded libstdc++ is too old: the file needs {asked} (GCC {gcc}).",
    ),
    "CUDA's libraries on this machine": (
        "Installed: {packages}.",
        "On this machine: {paths}.",
        "Installed instead: {sonames}.",
        "The file lists {soname} as needed: another version of it was found.",
        "The symbol is from CUDA {version}: the loaded library is older.",
        "The file imports it from {library}, which was found but does not export it: it is another release of "
        "{product}.",
        "It is installed at {paths}, which is not in the search path of this file.",
    ),
}


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
    rows = {row.says for row in (*SENTENCES, *GROUP_SENTENCES)}
    elsewhere = {says for each in NOT_SHOWN.values() for says in each}
    if torch_here.version()[1] != "cpu":
        elsewhere |= set(OF_A_CPU_BUILD)
    assert elsewhere <= rows
    assert sorted(rows - asked.met - elsewhere) == []


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
