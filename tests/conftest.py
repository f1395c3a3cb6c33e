"""What several tests need: the fixtures' place and interpreters with and without torch."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def fixtures_dir() -> Path:
    """The directory of small real shared objects (tests/fixtures; build.py makes them)."""
    return Path(__file__).resolve().parent / "fixtures"


@pytest.fixture(scope="session")
def torch_python() -> Path:
    """An interpreter whose environment has torch: the one that runs the tests."""
    if importlib.util.find_spec("torch") is None:
        pytest.fail("this test needs torch in the environment that runs the tests: pip install -e '.[test]'")
    return Path(sys.executable)


@pytest.fixture(scope="session")
def plain_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same interpreter in an environment that has nothing installed."""
    directory = tmp_path_factory.mktemp("plain") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", directory], check=True)
    return directory / "bin" / "python"
