"""Shared by tests: directory of fixtures, a browser, interpreters with and without torch."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import torch_here
from tests.forking_process import TORCH, Run, forking_process


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--without-torch", action="store_true", help="leave out the tests that need an installed torch")
    parser.addoption(
        "--other-python", action="store_true", help="leave out most rows: they have one result on every Python"
    )


# A test with more cases than this is one of rows: another Python runs one case in so many.
_MANY_CASES, _ONE_IN = 32, 8


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out: set[pytest.Item] = set()
    if config.getoption("--without-torch"):
        left_out |= {item for item in items if item.get_closest_marker("torch")}
    if config.getoption("--other-python"):
        left_out |= {item for item in items if item.get_closest_marker("one_python")} | _most_cases(items)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
    # The longest first: the other processes would wait for one at the end.
    items.sort(key=_seconds, reverse=True)


def _most_cases(items: list[pytest.Item]) -> set[pytest.Item]:
    """Of each test with many cases all but one in eight."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    many = (each for each in cases.values() if len(each) > _MANY_CASES)
    return {item for each in many for at, item in enumerate(each) if at % _ONE_IN}


def _seconds(item: pytest.Item) -> float:
    """How long a slow test takes about; 0 if its mark does not have it."""
    mark = item.get_closest_marker("slow")
    return float(mark.kwargs.get("seconds", 0)) if mark else 0.0


def pytest_report_header(config: pytest.Config) -> str:
    """The torch of tests marked `torch`, for which their expected values apply."""
    if config.getoption("--without-torch"):
        return "torch: left out (--without-torch)"
    return f"torch: {'+'.join(torch_here.version())}, {torch_here.directory()}" if torch_here.found() else "torch: none"


@pytest.fixture(scope="session")
def fixtures_dir() -> Path:
    """The directory of small real shared objects (tests/fixtures; made by build.py)."""
    return Path(__file__).resolve().parent / "fixtures"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A browser without a window, that scripts of a page may use for two minutes."""
    from tests.report.browser import chromium

    with chromium(tmp_path_factory.mktemp("profile")) as driver:
        driver.set_script_timeout(120)
        yield driver


@pytest.fixture(scope="session")
def torch_python() -> Path:
    """An interpreter with torch: the one that runs the tests."""
    torch_here.directory()
    return Path(sys.executable)


@pytest.fixture(scope="session")
def run_with_torch(torch_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Runs a program in a child of one process that has imported torch."""
    with forking_process(torch_python, TORCH, tmp_path_factory.mktemp("torch")) as run:
        yield run


@pytest.fixture(scope="session")
def plain_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same interpreter in an empty environment."""
    directory = tmp_path_factory.mktemp("plain") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    return directory / "bin" / "python"
