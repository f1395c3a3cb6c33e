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
        "--other-python", action="store_true", help="leave out the tests of rows that have one result on every Python"
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for option, mark in (("--without-torch", "torch"), ("--other-python", "one_python")):
        if config.getoption(option):
            left_out = [item for item in items if item.get_closest_marker(mark)]
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if not item.get_closest_marker(mark)]
    # The longest first: the other processes would wait for one at the end.
    items.sort(key=_seconds, reverse=True)


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
