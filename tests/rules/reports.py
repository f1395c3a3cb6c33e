"""The fixtures as `abiscan --torch 2.13.0` reports them: against the CUDA build, on a machine with its libcudart."""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path

from msgspec.structs import replace

from abiscan.analysis.run import ScanOptions, scan
from abiscan.environment.python import read_environment
from abiscan.loader import LoaderSettings
from abiscan.model.python_version import PythonVersion
from abiscan.model.report import ArtifactReport
from abiscan.releases import ReleaseIndex, open_index

FIXTURES = Path(__file__).parents[1] / "fixtures"


@cache
def index() -> ReleaseIndex:
    return open_index()


@cache
def reports() -> dict[str, ArtifactReport]:
    """File name -> report, for every x86_64 fixture that is a separate shared object (not in loader cases)."""
    files = sorted(FIXTURES.glob("*.so"))
    # The result does not depend on packages and version of the Python that runs the tests.
    environment = replace(read_environment(sys.executable), site_packages=(), version=PythonVersion(3, 11))
    with tempfile.TemporaryDirectory() as folder:
        # A machine without CUDA reports the library as not found, and one with it does not.
        shutil.copy(FIXTURES / "empty-library.so", Path(folder) / "libcudart.so.13")
        settings = LoaderSettings(cwd=str(FIXTURES), library_path=folder)
        options = ScanOptions(torch="2.13.0", environment=environment, settings=settings)
        found = scan([str(path) for path in files], options).artifacts
    return {Path(each.path).name: each for each in found if each.machine == "x86_64"}


def report(name: str) -> ArtifactReport:
    """The report of one fixture."""
    return reports()[name]
