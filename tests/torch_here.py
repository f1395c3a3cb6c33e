"""The torch of the environment that runs the tests, found without importing it. Tests that use it have the marker
`torch`."""

from __future__ import annotations

import functools
import importlib.util
import runpy
from pathlib import Path

import pytest

from abiscan.elf import open_elf


@functools.cache
def found() -> Path | None:
    """The folder `torch` of this interpreter's environment."""
    spec = importlib.util.find_spec("torch")
    return None if spec is None or spec.origin is None else Path(spec.origin).parent


def directory() -> Path:
    """The same; without torch, the test fails with an instruction."""
    folder = found()
    if folder is None:
        pytest.fail("this test needs torch: pip install -e '.[test]', or pytest --without-torch")
    return folder


def library(name: str) -> Path:
    """The path of one of its libraries."""
    return directory() / "lib" / name


@functools.cache
def exported(name: str) -> tuple[str, ...]:
    """Every export of one of its libraries, sorted."""
    elf = open_elf(library(name))
    return tuple(sorted({symbol.name for symbol in elf.exports()}))


@functools.cache
def version() -> tuple[str, str]:
    """(public version, variant) in its version.py, such as ("2.13.0", "cu130"); the variant may be empty."""
    public, _, label = str(runpy.run_path(str(directory() / "version.py"))["__version__"]).partition("+")
    return public, label


def cpu_build(folder: Path) -> Path:
    """Make `folder` a torch of the CPU variant: the installed version, with links to the libraries of every build."""
    (folder / "lib").mkdir()
    (folder / "version.py").write_text(f"__version__ = '{version()[0]}+cpu'\ncuda = None\nhip = None\n")
    for name in ("libc10.so", "libshm.so", "libtorch.so", "libtorch_cpu.so", "libtorch_python.so"):
        (folder / "lib" / name).symlink_to(library(name))
    return folder
