"""Metadata over a limit gives one line for its package, and nothing else."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from abiscan.analysis.executors import in_children, in_process
from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.errors import UsageError
from abiscan.inputs import read_target_list
from abiscan.inputs.distributions import distributions
from abiscan.inputs.expand import INSTALLED
from abiscan.loader import LoaderSettings
from tests.inputs.kit import DIST_INFO, METADATA, SMALL, WHEEL_NAME, all_of, zip_bytes
from tests.processor_time import at_most

_HEAD = b"Metadata-Version: 2.1\nName: demo\nVersion: 1\n"
_EXCESS = {
    "parentheses": _HEAD + b"Requires-Dist: torch; " + b"(" * 1000 + b"\n",
    "digits": _HEAD + b"Requires-Dist: torch>=" + b"1" * 5000 + b"\n",
    "lines": _HEAD + b"Requires-Dist: torch>=2.4\n" * 40_000,
    "markers": _HEAD + b"Requires-Dist: torch; " + b" or ".join([b"extra == 'x'"] * 200_000) + b"\n",
    "extras": _HEAD + b"Provides-Extra: x\n" * 200_000,
    "folded": _HEAD + b"License: x\n" + b" y\n" * 200_000,
    "size": _HEAD + b"X: y" * (4 << 20),
}


@pytest.mark.parametrize("metadata", _EXCESS.values(), ids=_EXCESS.keys())
def test_a_wheel_beyond_a_limit_is_one_line(metadata: bytes, tmp_path: Path) -> None:
    members = {**DIST_INFO, "demo-1.0.dist-info/METADATA": metadata, "demo/_C.so": SMALL}
    (tmp_path / WHEEL_NAME).write_bytes(zip_bytes(members))
    with at_most(2):
        found, errors, _ = all_of(WHEEL_NAME, cwd=tmp_path)
    assert [artifact.member for artifact in found] == ["demo/_C.so"]
    assert [error.path for error in errors] == [f"{WHEEL_NAME}!demo-1.0.dist-info/METADATA"]
    assert re.search(r"more than|limit: ", errors[0].message)
    assert len(errors[0].message) < 300


@pytest.mark.parametrize("jobs", [1, 2])
def test_the_other_wheels_of_a_directory_are_reported(jobs: int, tmp_path: Path) -> None:
    for number, metadata in enumerate((_EXCESS["parentheses"], _EXCESS["digits"], METADATA)):
        members = {**DIST_INFO, "demo-1.0.dist-info/METADATA": metadata, "demo/_C.so": SMALL}
        (tmp_path / f"{number}-{WHEEL_NAME}").write_bytes(zip_bytes(members))
    options = ScanOptions(torch="2.9.0", environment=None, settings=LoaderSettings(cwd=str(tmp_path)))
    executor = in_process if jobs == 1 else in_children(jobs)
    report = scan(["."], options, jobs=jobs, executor=executor)
    assert len(report.artifacts) == 3
    assert [error.path[0] for error in report.errors] == ["0", "1"]


def _install(site: Path, name: str, **files: bytes) -> None:
    place = site / f"{name}-1.0.dist-info"
    place.mkdir(parents=True)
    (site / name).mkdir()
    (site / name / "_C.so").write_bytes(SMALL)
    given = {"METADATA": METADATA.replace(b"demo", name.encode()), "RECORD": f"{name}/_C.so,,\n".encode(), **files}
    for file, content in given.items():
        (place / file).write_bytes(content)


@pytest.mark.parametrize(
    "files",
    [*({"METADATA": each} for each in _EXCESS.values()), {"RECORD": b'"' + b"x" * 200_000 + b'",,\nbad/_C.so,,\n'}],
    ids=[*_EXCESS.keys(), "RECORD"],
)
def test_an_installed_package_beyond_a_limit_costs_itself_alone(files: dict[str, bytes], tmp_path: Path) -> None:
    _install(tmp_path, "bad", **files)
    _install(tmp_path, "good")
    bad, good = distributions((str(tmp_path),))
    assert [bad.name, bool(bad.unread), good.requires_dist, good.unread] == ["bad", True, ("torch==2.4.0",), ()]
    found, errors, _ = all_of(INSTALLED + "bad", INSTALLED + "good", cwd=tmp_path, site=[str(tmp_path)])
    assert found[-1].path == "good/_C.so"
    assert len(errors) == 1
    assert "bad-1.0.dist-info/" in errors[0].path


def test_a_conda_index_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    for content in (b"{", b"[" * 100_000, json.dumps({"depends": [1]}).encode(), b"\xff"):
        (tmp_path / "a.conda").write_bytes(zip_bytes({"info/index.json": content, "lib/x.so": SMALL}))
        _, errors, _ = all_of("a.conda", cwd=tmp_path)
        assert [error.path for error in errors] == ["a.conda!info/index.json"]


def test_a_wheel_of_too_many_tags_is_an_error(tmp_path: Path) -> None:
    tags = ".".join(f"c{n}" for n in range(12))
    name = f"demo-1.0-{tags}-{tags}-{tags}.whl"
    (tmp_path / name).write_bytes(zip_bytes({**DIST_INFO, "demo/_C.so": SMALL}))
    found, errors, _ = all_of(name, cwd=tmp_path)
    assert [artifact.group.facts.file_tags for artifact in found] == [()]
    assert [error.message for error in errors] == [
        "its tags are not read, because it has more than 1024 tags in its name"
    ]


@pytest.mark.parametrize("text", ["a.so\n" * 70_000, "a" * 9000], ids=["lines", "length"])
def test_a_list_beyond_a_limit_is_a_usage_error(text: str, tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text(text)
    with pytest.raises(UsageError, match=r"no path or URL|more than 65536 inputs"):
        read_target_list("list.txt", cwd=str(tmp_path))
