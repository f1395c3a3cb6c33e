"""The crafted files: abiscan predicts the result of this machine's loader."""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import pytest

from tests.fixtures.loader_cases import CASES, Case
from tests.loader import kit
from tests.truth.compare import Prediction, compare, predict, predict_without_torch
from tests.truth.oracle import Answer, ask

pytestmark = kit.needs_glibc

# Cases that the model leaves undecided or predicts incorrectly, and why this is accepted.
KNOWN = {
    "format-needed-beyond": "a name outside of the string table is whatever lies there in memory",
    "name-is-odd": "JSON holds no bytes that are not UTF-8",
}


def _by_environment(root: Path) -> dict[tuple[tuple[str, str], ...], list[Path]]:
    """Targets of the cases that are files, grouped by environment: one process for all without variables."""
    groups: dict[tuple[tuple[str, str], ...], list[Path]] = defaultdict(list)
    for case in CASES:
        directory = root / case.name
        # A directory, a broken link and a missing file are no shared objects.
        if (directory / case.target).is_file():
            groups[_environment(case, directory)].append(directory / case.target)
    return groups


def _environment(case: Case, directory: Path) -> tuple[tuple[str, str], ...]:
    return tuple((name, value.replace("{dir}", str(directory))) for name, value in case.env.items())


@pytest.mark.parametrize(
    "torch", [pytest.param(True, marks=pytest.mark.torch, id="torch"), pytest.param(False, id="plain")]
)
def test_crafted_libraries(fixtures_dir: Path, plain_python: Path, torch: bool) -> None:
    python = Path(sys.executable) if torch else plain_python
    answers: dict[str, Answer] = {}
    predictions: dict[str, Prediction] = {}
    for setting, files in _by_environment(fixtures_dir / "loader").items():
        env = dict(setting)
        if torch and env:
            continue  # each would import torch again; the variables are the same without it
        answers |= ask(files, python=python, torch=torch, env=env, retry=False)
        predictions |= (predict if torch else predict_without_torch)(files, python=python, env=env)
    result = compare(answers, predictions)
    known = tuple(str(fixtures_dir / "loader" / name / "target.so") + "\n" for name in KNOWN)
    result.wrong = [line for line in result.wrong if not line.startswith(known)]
    result.text = [line for line in result.text if not line.startswith(known)]
    if result.wrong or result.text:
        pytest.fail(str(result))


@pytest.mark.torch
def test_real_fixtures(fixtures_dir: Path, torch_python: Path) -> None:
    files = [file for directory in (fixtures_dir, fixtures_dir / "bad") for file in sorted(directory.glob("*.so"))]
    result = compare(ask(files, python=torch_python, torch=True, retry=False), predict(files, python=torch_python))
    if result.wrong or result.text:
        pytest.fail(str(result))
