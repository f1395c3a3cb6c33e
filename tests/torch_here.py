"""The torch of the environment that runs the tests, found without importing it. Tests that use it have the marker
`torch`."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import re
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


def installed_entries(*, requirements: bool = True) -> set[Path]:
    """What torch, and what it requires here without extras, installed in site-packages."""
    found: dict[str, importlib.metadata.Distribution] = {}
    names = ["torch"]
    while names:
        name = names.pop()
        try:
            found[name] = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        lines = [line for line in found[name].requires or () if requirements and "extra ==" not in line]
        required = {match[0].lower() for line in lines if (match := re.match(r"[\w.-]+", line))}
        names += required - found.keys()
    folder = directory().parent
    files = [file for each in found.values() for file in each.files or ()]
    tops = {folder / file.parts[0] for file in files if file.parts[0] not in ("..", "__pycache__")}
    return {top for top in tops if top.exists()}


def cpu_build(folder: Path) -> Path:
    """Make `folder` a torch of the CPU variant: the installed version, with links to the libraries of every build."""
    (folder / "lib").mkdir()
    (folder / "version.py").write_text(f"__version__ = '{version()[0]}+cpu'\ncuda = None\nhip = None\n")
    for name in ("libc10.so", "libshm.so", "libtorch.so", "libtorch_cpu.so", "libtorch_python.so"):
        (folder / "lib" / name).symlink_to(library(name))
    return folder
