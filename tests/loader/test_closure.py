"""The libraries that a file loads, and their order. Oracles: LD_DEBUG=scopes, which prints the loader's search list,
and ldd, which continues after a missing library."""

from __future__ import annotations

import functools
import os
import re
import sysconfig
from pathlib import Path

import pytest

from abiscan.loader.process import Process
from abiscan.model.loading import StopKind
from tests.loader import kit
from tests.loader.debugging import examined, message, plain_process, search_list
from tests.programs import run_program

pytestmark = kit.needs_glibc

CASES = Path(__file__).resolve().parents[1] / "fixtures" / "loader"
# Orders that differ from a depth-first walk, cycles, filters, several names of one file, links.
ORDERED = (
    *(f"graph-{number:02}" for number in range(0, 24, 4)),
    *("breadth-first-binding", "cycle", "diamond-broken", "filter", "auxiliary-present", "needed-twice", "needed-self"),
    *("same-file-two-names", "soname-of-other-file", "loaded-by-soname-wins", "needed-default-directory"),
    *("rpath-transitive", "rpath-past-runpath", "reachable-through-closure", "needed-with-origin", "needed-vdso"),
)
MISSING = ("missing-needed", "missing-breadth-first", "runpath-not-transitive")
_NOT_FOUND = re.compile(r"^\s*(\S+) => not found", re.MULTILINE)


@functools.cache
def process() -> Process:
    return plain_process()


def _real_modules() -> list[Path]:
    """Extension modules of the standard library that need system libraries."""
    folder = Path(sysconfig.get_paths()["stdlib"]) / "lib-dynload"
    found = [path for name in ("_ssl", "_sqlite3", "_lzma", "_ctypes", "_uuid") for path in folder.glob(f"{name}.*.so")]
    return found


def _assert_same_search_list(path: Path) -> None:
    theirs = search_list(path)
    # The executable and the vDSO have no path to open.
    ours = [item.name for item in examined(path, process()).closure.maps if "/" in item.name]
    assert [os.path.realpath(name) for name in ours] == [os.path.realpath(name) for name in theirs if "/" in name]


@pytest.mark.parametrize("name", ORDERED)
def test_the_search_list_is_the_loaders(name: str) -> None:
    _assert_same_search_list(CASES / name / "target.so")


def test_the_search_list_of_real_modules_is_the_loaders() -> None:
    modules = _real_modules()
    assert modules
    for path in modules:
        _assert_same_search_list(path)


@pytest.mark.parametrize("name", MISSING)
def test_what_is_missing_is_what_ldd_does_not_find(name: str) -> None:
    path = CASES / name / "target.so"
    listed = run_program(["ldd", path]).stdout
    closure = examined(path, process()).closure
    missing = [soname for _item, soname in closure.missing]
    assert missing
    assert sorted(set(missing)) == sorted(set(_NOT_FOUND.findall(listed)))
    # The loader stops at the first of them.
    assert closure.failure is not None
    stop = closure.failure.stop
    assert stop.kind is StopKind.LIBRARY_NOT_FOUND
    assert stop.object == missing[0]
    assert message(path) == stop.message


def test_an_object_has_its_loader_and_its_dependencies() -> None:
    path = CASES / "breadth-first-binding" / "target.so"
    closure = examined(path, process()).closure
    by_name = {item.label: item for item in closure.maps}
    elf = closure.root.elf
    assert elf is not None
    assert set(closure.served) == set(elf.needed)
    for soname, item in closure.served.items():
        assert item is by_name[soname]
        assert item.loader is closure.root
    deeper = [item for item in closure.maps if item.loader not in (None, closure.root)]
    assert all(item in (item.loader.needed or ()) for item in deeper if item.loader is not None)


def test_files_do_not_see_each_other() -> None:
    """Each file is opened in a copy of the process: libraries of one are not loaded for the next."""
    before = [item.name for item in process().namespace]
    first = examined(CASES / "graph-00" / "target.so", process())
    second = examined(CASES / "graph-01" / "target.so", process())
    assert [item.name for item in process().namespace] == before
    assert not any("graph-00" in item.name for item in second.closure.maps)
    assert any("graph-00" in item.name for item in first.closure.maps)
