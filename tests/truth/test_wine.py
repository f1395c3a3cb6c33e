"""Windows modules of real wheels on releases of torch: abiscan against Wine's loader.

`apt-get install wine gcc-mingw-w64-x86-64 && pytest -m wine -s` prints the figures. It fetches 1.1 GB, once. Wine maps
a file whose symbols are missing, and lists each of them: dlls/ntdll/loader.c.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from abiscan.binary import Binary, open_binary
from abiscan.environment.python_names import exports as python_exports
from abiscan.loader.resolve_by_library import resolve_by_library
from abiscan.model.imports import Owner, Status
from abiscan.model.platforms import OperatingSystem, file_key
from abiscan.model.python_version import PythonVersion
from abiscan.ownership.names import owner_of_library
from abiscan.releases import open_index
from abiscan.releases.exports import ReleasedExports
from tests.corpus.fetch import corpus_dir, download
from tests.corpus.wheels import WINDOWS_EXTENSIONS, WINDOWS_TORCHES, Wheel
from tests.truth.wine import run, unfound_libraries, unresolved_symbols, windows_path, windows_python, wine_dir

pytestmark = pytest.mark.wine

Symbols = frozenset[tuple[str, str]]
_LIBRARIES = (".pyd", ".dll")


def _unpack(wheel: Wheel) -> Path:
    """The libraries of a wheel, unpacked once."""
    target = wine_dir() / "wheels" / wheel.file.removesuffix(".whl")
    if not target.exists():
        partial = target.with_name(f".{target.name}.partial")
        with zipfile.ZipFile(download(wheel, corpus_dir())) as archive:
            for member in archive.namelist():
                if member.lower().endswith(_LIBRARIES):
                    archive.extract(member, partial)
        partial.rename(target)
    return target


@cache
def _folders() -> tuple[tuple[Path, ...], ...]:
    """The libraries of each folder of each wheel: a library finds those beside it."""
    found: dict[Path, list[Path]] = {}
    for wheel in WINDOWS_EXTENSIONS:
        for path in sorted(_unpack(wheel).rglob("*")):
            if path.suffix.lower() in _LIBRARIES:
                found.setdefault(path.parent, []).append(path)
    return tuple(map(tuple, found.values()))


def _processes() -> Iterator[list[Path]]:
    """Folders whose files can be opened in one process: Windows finds a library that is open by its file name."""
    waiting = list(_folders())
    while waiting:
        names: set[str] = set()
        files: list[Path] = []
        later = []
        for folder in waiting:
            own = {file_key(path.name) for path in folder}
            if names & own:
                later.append(folder)
            else:
                names |= own
                files += folder
        yield files
        waiting = later


def _log(torch: Path, files: list[Path]) -> str:
    """Wine's messages about the files; one that ends the process in its initialisation is opened by then."""
    text, waiting = "", list(files)
    while waiting:
        script = Path(__file__).with_name("wine_load.py")
        done = run([windows_path(path) for path in (script, torch, *waiting)], debug="warn+module")
        opened = done.stdout.count("opening ")
        assert opened, done.stderr[-2000:]
        text += done.stderr
        waiting = waiting[opened:]
    return text


def _torch_and_python(symbols: set[tuple[str, str]]) -> Symbols:
    return frozenset((key, name) for key, name in symbols if owner_of_library(key) in (Owner.TORCH, Owner.PYTHON))


def _of_abiscan(file: Path, binary: Binary, siblings: dict[str, Binary], exports: ReleasedExports) -> Symbols:
    python = python_exports(PythonVersion(3, 11), OperatingSystem.WINDOWS)
    assert python is not None
    unresolved = {
        (file_key(each.symbol.library or ""), each.name)
        for each in resolve_by_library(binary, siblings, exports, (python,)).imports
        if each.status in (Status.MISSING, Status.UNREACHABLE)
    }
    return _torch_and_python(unresolved)


@pytest.mark.parametrize("wheel", WINDOWS_TORCHES, ids=lambda wheel: wheel.requirement)
def test_the_same_symbols_are_missing(wheel: Wheel) -> None:
    windows_python()
    torch = _unpack(wheel) / "torch/lib"
    index = open_index()
    exports = ReleasedExports(index, index.resolve(wheel.requirement.partition("==")[2], "win_amd64"))
    missing: dict[str, set[tuple[str, str]]] = {}
    for files in _processes():
        text = _log(torch, files)
        assert not any("torch_cpu.dll" in names for names in unfound_libraries(text).values())
        missing.update(unresolved_symbols(text))
    pairs, symbols, failing, lacking, projects = 0, 0, 0, 0, set()
    differences = []
    for folder in _folders():
        binaries = {path: open_binary(path) for path in folder}
        for path, binary in binaries.items():
            imports = {(each.library or "", each.name) for each in binary.imports if each.name[0] != "#"}
            asked = {entry for entry in imports if owner_of_library(entry[0]) is Owner.TORCH}
            if not asked:
                continue
            siblings = {other.name: each for other, each in binaries.items() if other != path}
            ours = _of_abiscan(path, binary, siblings, exports)
            wines = _torch_and_python(missing.get(windows_path(path), set()))
            pairs, symbols, failing = pairs + 1, symbols + len(asked), failing + bool(wines)
            lacking += len(wines)
            projects.add(path.relative_to(wine_dir() / "wheels").parts[0].partition("-")[0])
            if ours != wines:
                differences.append((path.name, sorted(ours - wines), sorted(wines - ours)))
    print(f"\n{wheel.requirement}: {pairs} modules of {len(projects)} projects, {symbols} torch imports,", end=" ")
    print(f"{failing} modules lack {lacking} symbols, {len(differences)} differ")
    assert len(projects) >= 12
    assert not differences
