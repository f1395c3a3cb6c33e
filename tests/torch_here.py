"""The torch of the environment that runs the tests: found, never imported. The marker `torch` is on what uses it."""

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
    """The same; where there is none, the test fails and says what to do."""
    folder = found()
    if folder is None:
        pytest.fail("this test needs torch: pip install -e '.[test]', or pytest --without-torch")
    return folder


def library(name: str) -> Path:
    """Where one of its libraries lies."""
    return directory() / "lib" / name


@functools.cache
def exported(name: str) -> tuple[str, ...]:
    """Every export of one of its libraries, sorted."""
    with open_elf(library(name)) as elf:
        return tuple(sorted({symbol.name for symbol in elf.exports()}))


@functools.cache
def version() -> tuple[str, str]:
    """(public version, variant) as its version.py says, such as ("2.13.0", "cu130"); the variant may be empty."""
    public, _, label = str(runpy.run_path(str(directory() / "version.py"))["__version__"]).partition("+")
    return public, label


def cpu_build(folder: Path) -> Path:
    """`folder`, made a torch of the CPU variant: the installed version, links to the libraries that every build has."""
    (folder / "lib").mkdir()
    (folder / "version.py").write_text(f"__version__ = '{version()[0]}+cpu'\ncuda = None\nhip = None\n")
    for name in ("libc10.so", "libshm.so", "libtorch.so", "libtorch_cpu.so", "libtorch_python.so"):
        (folder / "lib" / name).symlink_to(library(name))
    return folder
