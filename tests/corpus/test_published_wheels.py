"""Wheels of the corpus. The report against a release is the same on every machine, except for the loader prediction
(machines: no interpreter, two bare ones, one without any library, and an environment with torch); the verdict on a
release agrees with the matrix, and loading files have no causes; declarations are compared with needs (expected values
are from `unzip -l`, `readelf -V` and METADATA); docs/how-to/recipes.md shows what is printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.python import PythonEnvironment, read_environment
from abiscan.loader import LoaderSettings
from abiscan.model.python_version import PythonVersion
from abiscan.model.report import ArtifactReport, ArtifactVerdict
from tests.corpus.fetch import corpus_dir
from tests.programs import run_abiscan

pytestmark = pytest.mark.corpus
each_wheel = pytest.mark.parametrize(
    "wheel", sorted(corpus_dir().glob("*.whl")), ids=lambda wheel: wheel.name.split("-")[0]
)


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
@each_wheel
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


RELEASES = ["1.13.1", "2.1.2", "2.4.1", "2.6.0", "2.8.0", "2.10.0", "2.13.0", "2.15.0"]


def artifacts(wheel: os.PathLike[str], torch: str | None, *, matrix: bool) -> list[ArtifactReport]:
    options = ScanOptions(torch, None, LoaderSettings(os.getcwd()), matrix=matrix)
    return [a for a in scan([os.fspath(wheel)], options).artifacts if a.verdict is not ArtifactVerdict.NOT_TORCH]


@each_wheel
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


@each_wheel
def test_what_loads_has_no_causes(wheel: os.PathLike[str]) -> None:
    loads = [a for a in artifacts(wheel, None, matrix=False) if a.verdict is ArtifactVerdict.LOADS]
    assert [a.display for a in loads if a.causes or a.import_causes] == []


ROWS = [
    ("bitsandbytes-0.45.5-*.whl", {"wheel-tag-too-old"}, "GLIBC_2.34"),
    ("torchao-0.13.0-*.whl", {"wheel-tag-other-python"}, "CPython 3.9 alone"),
    ("torchmonarch-0.7.0-*.whl", {"wheel-tag-too-old"}, "GLIBC_2.28"),
    ("kaldifeat-1.4-*.whl", {"wheel-tag-other-machine", "wheel-tag-other-python"}, "tagged any"),
    ("lmcache-0.5.6-*.whl", {"torch-requirement-too-wide"}, "torch 2.13.0"),
    ("torchvision-0.28.0-*.whl", set(), ""),
    ("numpy-2.4.6-*.whl", set(), ""),
    ("scipy-1.17.1-*.whl", set(), ""),
]


@pytest.mark.parametrize(("pattern", "rules", "says"), ROWS, ids=[row[0].split("-")[0] for row in ROWS])
def test_published_wheels(pattern: str, rules: set[str], says: str) -> None:
    (wheel,) = corpus_dir().glob(pattern)
    done = run_abiscan(wheel, "-f", "json", "-q")
    found = [f for artifact in json.loads(done.stdout)["artifacts"] for f in artifact["findings"]]
    grave = [f for f in found if f["rule"].startswith(("wheel-", "torch-requirement-")) and f["severity"] != "note"]
    assert {f["rule"] for f in grave} == rules
    assert len(grave) == len(rules)
    assert not says or any(says in f["message"] for f in grave)


ROOT = Path(__file__).parents[2]
RECIPES = (ROOT / "docs" / "how-to" / "recipes.md").read_text(encoding="utf-8")


def test_the_page_shows_what_is_printed(tmp_path: Path) -> None:
    block = RECIPES.partition("<!-- neml2 -->\n```text\n$ abiscan ")[2].partition("```")[0]
    command, *shown = block.splitlines()
    # With an environment of its own: the wheel is that for the page's Python.
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    done = run_abiscan(
        *command.split(),
        env={
            "PATH": "/usr/bin:/bin",
            "VIRTUAL_ENV": str(environment),
            "PYTHONPATH": str(ROOT),
            "HOME": str(Path.home()),
        },
    )
    assert done.returncode == 1, done.stderr
    printed = re.sub(r"cp3\d+", "cp311", " ".join(done.stdout.split()))
    for part in " ".join(line.strip() for line in shown).split("..."):
        assert " ".join(part.split()).removeprefix("FAILS ") in printed
