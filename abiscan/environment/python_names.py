"""Names that each CPython version exports, from `data/python_exports.txt.gz` and the tables of the other systems.

`tools/build_python_exports.py` reads the public and private names from real interpreters, and lists these. A version
exports a name if one of its patch releases read does. Equal names do not imply equal layouts: a file built for the
default build finds nearly all of its names in a free-threaded one, whose objects are larger (PEP 703). Decompressed at
the first use. The names of the stable ABI (https://docs.python.org/3/c-api/stable.html) are in a table of their own.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable

from abiscan.data import data_file, read_compressed
from abiscan.model.platforms import OperatingSystem
from abiscan.model.python_version import PythonVersion
from abiscan.ownership.names import is_python_name


def known_versions(system: OperatingSystem = OperatingSystem.LINUX) -> tuple[PythonVersion, ...]:
    """Return the versions of a system's table, in order."""
    return _table(system)[0]


def exported_by(name: str, system: OperatingSystem = OperatingSystem.LINUX) -> tuple[PythonVersion, ...]:
    """Return the versions on a system that export a name, in order; empty if none does."""
    versions, masks = _table(system)
    return _of_mask(versions, masks.get(name, 0))


def systems_exporting(name: str) -> tuple[OperatingSystem, ...]:
    """Return the systems on which some version exports a name."""
    return tuple(system for system in FILES if exported_by(name, system))


def names() -> Iterable[str]:
    """Return every name that some version exports."""
    return _table()[1].keys()


def exports(version: PythonVersion, system: OperatingSystem = OperatingSystem.LINUX) -> Callable[[str], bool] | None:
    """Return a function that tests whether a version exports a name; None if the system's table lacks the version."""
    versions, masks = _table(system)
    if version not in versions:
        return None
    bit = 1 << versions.index(version)
    return lambda name: masks.get(name, 0) & bit != 0


def exporting_all(names: Iterable[str], system: OperatingSystem = OperatingSystem.LINUX) -> tuple[PythonVersion, ...]:
    """Return the versions on a system that export all of the names, in order. Names that are not spelled like CPython's
    are ignored."""
    versions, masks = _table(system)
    mask = (1 << len(versions)) - 1
    for name in names:
        if is_python_name(name):
            mask &= masks.get(name, 0)
    return _of_mask(versions, mask)


@functools.cache  # the names of a file have few masks
def _of_mask(versions: tuple[PythonVersion, ...], mask: int) -> tuple[PythonVersion, ...]:
    return tuple(version for at, version in enumerate(versions) if mask >> at & 1)


FILES = {
    OperatingSystem.LINUX: "python_exports.txt.gz",
    OperatingSystem.WINDOWS: "python_exports-windows.txt.gz",
    OperatingSystem.MACOS: "python_exports-macos.txt.gz",
}
"""The data file of each system."""


@functools.cache
def _table(system: OperatingSystem = OperatingSystem.LINUX) -> tuple[tuple[PythonVersion, ...], dict[str, int]]:
    """Return the versions, and for each name a mask: bit i for the version at i."""
    lines = read_compressed(FILES[system]).splitlines()
    masks: dict[str, int] = {}
    for line in lines[1:]:
        mask, *names = line.split(" ")
        masks.update(dict.fromkeys(names, int(mask, 16)))
    return tuple(_parse(text) for text in lines[0].split()), masks


def _parse(text: str) -> PythonVersion:
    major, _, minor = text.partition(".")
    return PythonVersion(int(major), int(minor.removesuffix("t")), minor.endswith("t"))


STABLE_ABI_LIBRARIES = ("python3.dll", "python3t.dll")
"""The libraries of CPython for Windows that export the stable ABI only."""


@functools.cache
def stable_abi() -> dict[str, str]:
    """Map each name of the stable ABI to the CPython version that added it (`3.2`, `3.13`)."""
    with open(data_file("cpython_stable_abi.txt"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    return dict(line.split(" ", 1) for line in lines if not line.startswith("#"))
