"""Which CPython exports which name of its C API, from `data/python_exports.txt.gz` and its kin of
other systems.

The tables hold names of real interpreters, public and private ones, as `tools/build_python_exports.py` read them; it
says there which. A name that any of the patch releases read for a version exports is that version's. Names say
nothing of layouts: a file built for the default build finds nearly all of its names in a free-threaded one, whose
objects are larger (PEP 703). Decompressed at the first question.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Iterable

from abiscan.data import data_file
from abiscan.model.platforms import OperatingSystem
from abiscan.model.python_version import PythonVersion
from abiscan.ownership.names import is_python_name

# zlib parameter for a gzip header around the data, with the largest window.
_GZIP = 16 + zlib.MAX_WBITS


def known_versions() -> tuple[PythonVersion, ...]:
    """The versions of the table, in order."""
    return _table()[0]


def exported_by(name: str, system: OperatingSystem = OperatingSystem.LINUX) -> tuple[PythonVersion, ...]:
    """The versions of a system's table that export a name, in their order; empty where none does."""
    versions, masks = _table(system)
    return _of_mask(versions, masks.get(name, 0))


def names() -> Iterable[str]:
    """Every symbol that some known version exports."""
    return _table()[1].keys()


def exports(version: PythonVersion, system: OperatingSystem = OperatingSystem.LINUX) -> Callable[[str], bool] | None:
    """Whether a version exports a name, as a function of the name; None for a version that the system's table lacks, of
    which nothing can be said."""
    versions, masks = _table(system)
    if version not in versions:
        return None
    bit = 1 << versions.index(version)
    return lambda name: masks.get(name, 0) & bit != 0


def exporting_all(names: Iterable[str], system: OperatingSystem = OperatingSystem.LINUX) -> tuple[PythonVersion, ...]:
    """The versions of a system's table that export every one of some names, in their order. What is no name of CPython
    is passed over."""
    versions, masks = _table(system)
    mask = (1 << len(versions)) - 1
    for name in names:
        if is_python_name(name):
            mask &= masks.get(name, 0)
    return _of_mask(versions, mask)


def supporting_abi3(names: Iterable[str]) -> tuple[PythonVersion, ...]:
    """The known versions that export all imports of an `.abi3.so` file, in order.

    Free-threaded builds up to 3.14 and Python 2 are excluded: they do not import files with that suffix
    (`importlib.machinery.EXTENSION_SUFFIXES`; PEP 384, PEP 703).
    """
    return tuple(version for version in exporting_all(names) if version.major >= 3 and not version.free_threaded)


def _of_mask(versions: tuple[PythonVersion, ...], mask: int) -> tuple[PythonVersion, ...]:
    return tuple(version for at, version in enumerate(versions) if mask >> at & 1)


FILES = {
    OperatingSystem.LINUX: "python_exports.txt.gz",
    OperatingSystem.WINDOWS: "python_exports-windows.txt.gz",
    OperatingSystem.MACOS: "python_exports-macos.txt.gz",
}
"""The table of each system in the package's data."""


@functools.cache
def _table(
    system: OperatingSystem = OperatingSystem.LINUX,
) -> tuple[tuple[PythonVersion, ...], dict[str, int]]:
    """The versions, and for each name a mask: bit i for the version at i."""
    with open(data_file(FILES[system]), "rb") as file:
        lines = zlib.decompress(file.read(), _GZIP).decode("ascii").splitlines()
    masks: dict[str, int] = {}
    for line in lines[1:]:
        mask, *names = line.split(" ")
        masks.update(dict.fromkeys(names, int(mask, 16)))
    return tuple(_parse(text) for text in lines[0].split()), masks


def _parse(text: str) -> PythonVersion:
    major, _, minor = text.partition(".")
    return PythonVersion(int(major), int(minor.removesuffix("t")), minor.endswith("t"))
