"""Files in environments of many layouts, checked from an environment without torch. The oracle is `import torch` and
`ctypes.CDLL` of the interpreter that the environment belongs to.

The torch of the tests and what it requires are linked into each environment.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from abiscan.analysis.run import scan
from abiscan.analysis.scan_options import ScanOptions
from abiscan.environment.python import read_environment
from abiscan.loader import LoaderSettings
from tests import torch_here
from tests.programs import run_program

pytestmark = [pytest.mark.torch, pytest.mark.slow]

FIXTURES = Path(__file__).parents[1] / "fixtures"
FILES = ("good-extension.so", "old-string-extension.so", "clang-const-data-ptr.so")
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
SITE = Path("lib") / f"python{VERSION}" / "site-packages"
BASE = Path(os.path.realpath(sys.executable))
# Each file in a child of its own: an import of torch takes longer.
OPEN = """import ctypes, os, sys
failure = ""
try:
    import torch
except BaseException as error:
    failure = error
for file in sys.argv[1:]:
    if os.fork() == 0:
        try:
            if not failure:
                ctypes.CDLL(file, os.RTLD_NOW)
        except BaseException as error:
            failure = error
        print(failure, end=chr(0), flush=True)
        os._exit(0)
    os.wait()
"""

Layout = Callable[[Path], tuple[Path, Path, dict[str, str]]]
"""A directory to fill -> its site-packages, its interpreter, and variables with which that runs."""


def _virtual(root: Path, tool: str = "") -> tuple[Path, Path, dict[str, str]]:
    (root / "bin").mkdir(parents=True)
    (root / "bin" / "python3").symlink_to(BASE)
    (root / "pyvenv.cfg").write_text(f"home = {BASE.parent}\n{tool}include-system-site-packages = false\n")
    return root / SITE, root / "bin" / "python3", {}


def _uv(root: Path) -> tuple[Path, Path, dict[str, str]]:
    return _virtual(root, f"implementation = CPython\nuv = 0.5.0\nversion_info = {VERSION}.0\n")


def _conda(root: Path) -> tuple[Path, Path, dict[str, str]]:
    """An installation of its own: a copied interpreter beside its library."""
    (root / "conda-meta").mkdir(parents=True)
    (root / "bin").mkdir()
    python = root / "bin" / f"python{VERSION}"
    python.write_bytes(BASE.read_bytes())
    python.chmod(0o755)
    (root / "bin" / "python3").symlink_to(python.name)
    (root / SITE).mkdir(parents=True)
    library = BASE.parents[1] / "lib"
    for each in (*library.glob("libpython*"), *(library / f"python{VERSION}").iterdir()):
        target = root / each.relative_to(BASE.parents[1])
        if not target.exists():
            target.symlink_to(each)
    return root / SITE, root / "bin" / "python3", {}


def _target(root: Path) -> tuple[Path, Path, dict[str, str]]:
    return root, BASE, {"PYTHONPATH": str(root)}


def _user(root: Path) -> tuple[Path, Path, dict[str, str]]:
    return root / ".local" / SITE, BASE, {"PYTHONUSERBASE": str(root / ".local")}


def _link(site: Path, *, requirements: bool) -> None:
    for each in torch_here.installed_entries(requirements=requirements):
        (site / each.name).symlink_to(each)


# The packages of the installation itself may be what a target directory or user packages lack.
@pytest.mark.parametrize(
    ("layout", "requirements"),
    [(_virtual, True), (_uv, True), (_conda, True), (_target, True), (_user, True), (_virtual, False), (_conda, False)],
)
def test_what_is_said_is_what_the_interpreter_says(layout: Layout, requirements: bool, tmp_path: Path) -> None:
    site, python, variables = layout(tmp_path / "environment")
    (site / "pkg").mkdir(parents=True)
    _link(site, requirements=requirements)
    for name in FILES:
        (site / "pkg" / name).write_bytes((FIXTURES / name).read_bytes())
    _site, elsewhere, _variables = _virtual(tmp_path / "elsewhere")
    options = ScanOptions(None, read_environment(str(elsewhere.parents[1])), LoaderSettings(str(tmp_path)))
    real = run_program([python, "-W", "ignore", "-c", OPEN, *(site / "pkg" / name for name in FILES)], env=variables)
    opened = real.stdout.split("\0")[:-1]
    said = {}
    for name, answer in zip(FILES, opened, strict=True):
        (report,) = scan([str(site / "pkg" / name)], options).artifacts
        said[name] = (report.loader.error or "").removeprefix("`import torch` itself fails: ")
        assert said[name] == answer, real.stderr
        assert report.torch_build is not None
        assert report.torch_build.version == torch_here.version()[0]
    # Else the environments would be empty.
    assert (said[FILES[0]] == "") is requirements
    assert said[FILES[1]]
