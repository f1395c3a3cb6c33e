"""Modules that the finder of the command imports are as Python's own finder makes them (the oracle of each test)."""

from __future__ import annotations

import _thread
import compileall
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.machinery import PathFinder
from pathlib import Path
from py_compile import PycInvalidationMode
from types import ModuleType

import pytest

import abiscan.model
from abiscan.cli import compiled_modules
from abiscan.cli.compiled_modules import _Finder, _without_locks

_COUNT = _thread._count
PACKAGE = Path(abiscan.__file__).parent
SUFFIX = f".{sys.implementation.cache_tag}.pyc"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package with the name of abiscan, compiled, with a module, a package and a module in it."""
    folder = tmp_path / "abiscan"
    for name in ("__init__.py", "one.py", "inner/__init__.py", "inner/two.py"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"name = {name!r}\n")
    compileall.compile_dir(folder, quiet=1)
    return folder


@pytest.mark.parametrize("name", ["one", "inner"])
def test_a_spec_is_that_of_python(package: Path, name: str) -> None:
    path = [str(package)]
    spec, expected = _Finder(SUFFIX).find_spec(f"abiscan.{name}", path), PathFinder.find_spec(f"abiscan.{name}", path)
    assert spec is not None
    assert expected is not None
    for each in ("name", "origin", "cached", "submodule_search_locations", "has_location", "parent"):
        assert getattr(spec, each) == getattr(expected, each), each
    module = importlib.util.module_from_spec(spec)
    assert spec.loader is not None
    spec.loader.exec_module(module)
    assert module.name == Path(str(spec.origin)).relative_to(package).as_posix()
    spec.loader.exec_module(module)  # as importlib.reload does
    assert spec.loader.get_source(spec.name) == Path(str(spec.origin)).read_text()  # type: ignore[attr-defined]


def test_what_is_unusual_is_left_to_python(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finder, path = _Finder(SUFFIX), [str(package)]
    assert finder.find_spec("abiscan.one", path) is not None
    assert finder.find_spec("abiscan.other", path) is None
    assert finder.find_spec("abiscan.one", None) is None
    assert finder.find_spec("other.one", path) is None
    assert _Finder(".other.pyc").find_spec("abiscan.one", path) is None
    monkeypatch.setattr(compiled_modules, "_READ", 64)
    assert finder.find_spec("abiscan.one", path) is None
    monkeypatch.undo()
    (package / "one.py").write_text("name = 'another'\n")
    assert finder.find_spec("abiscan.one", path) is None
    compileall.compile_dir(package, quiet=1, force=True, invalidation_mode=PycInvalidationMode.CHECKED_HASH)
    assert finder.find_spec("abiscan.one", path) is None


@pytest.fixture
def load(package: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """Imports a module of a package `abiscan.made` without locks; what is left to Python is a `LeftToPythonError`."""
    parent = ModuleType("abiscan.made")
    parent.__path__ = [str(package)]
    monkeypatch.setitem(sys.modules, "abiscan.made", parent)
    monkeypatch.setattr("_thread._count", lambda: 0)  # those of pytest-xdist

    def of_python(name: str, _import: object) -> ModuleType:
        raise LeftToPythonError(name)

    find_and_load = _without_locks(_Finder(SUFFIX), of_python)
    return lambda name: find_and_load(name, importlib.import_module)


class LeftToPythonError(Exception):
    pass


@pytest.mark.parametrize("name", ["abiscan.made.one", "abiscan.made.inner", "abiscan.made.inner.two"])
def test_a_module_is_that_of_python(
    load: Callable[[str], ModuleType], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for each in ("abiscan.made.one", "abiscan.made.inner", "abiscan.made.inner.two"):
        monkeypatch.setitem(sys.modules, each, None)  # so that the fixture removes what is imported
        del sys.modules[each]
    expected = importlib.import_module(name)
    for each in ("abiscan.made.inner.two", "abiscan.made.inner", "abiscan.made.one"):
        sys.modules.pop(each, None)
    module = load(name)
    assert module is sys.modules[name]
    assert module is not expected
    assert getattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2]) is module
    unlike = {"__builtins__", "__spec__", "__loader__"}
    assert {k: v for k, v in vars(module).items() if k not in unlike and not isinstance(v, ModuleType)} == {
        k: v for k, v in vars(expected).items() if k not in unlike and not isinstance(v, ModuleType)
    }
    assert module.__spec__ is not None
    assert module.__loader__ is module.__spec__.loader
    assert module.__spec__._initializing is False
    assert importlib.reload(module) is module


def test_a_module_that_fails_is_forgotten(load: Callable[[str], ModuleType], package: Path) -> None:
    (package / "bad.py").write_text("import sys\nassert __spec__._initializing\nraise KeyError(__name__)\n")
    compileall.compile_dir(package, quiet=1)
    with pytest.raises(KeyError, match=r"abiscan\.made\.bad"):
        load("abiscan.made.bad")
    assert "abiscan.made.bad" not in sys.modules


def test_other_modules_and_those_of_threads_are_left_to_python(
    load: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("json.tool", "abiscan.made", "abiscan.made.other"):
        with pytest.raises(LeftToPythonError):
            load(name)
    monkeypatch.setattr("_thread._count", _COUNT)
    with ThreadPoolExecutor(1) as pool:
        assert isinstance(pool.submit(load, "abiscan.made.one").exception(), LeftToPythonError)


def test_the_command_imports_its_modules_so() -> None:
    """All modules that are imported after the command begins; `_READ` is larger than the largest one."""
    compileall.compile_dir(PACKAGE, quiet=1)
    program = (
        "import os, sys; os._exit = sys.exit; sys.argv = ['abiscan', sys.argv[1]]\n"
        "from abiscan.cli import run\n"
        "import abiscan.cli.compiled_modules as compiled\n"
        "loaded, without = [], compiled._without_locks\n"
        "def recorded(*args):\n"
        "    load = without(*args)\n"
        "    return lambda name, import_: loaded.append(name) or load(name, import_)\n"
        "compiled._without_locks = recorded\n"
        "before = set(sys.modules)\n"
        "try: run()\n"
        "except SystemExit: pass\n"
        "own = [m for n, m in sys.modules.items() if n.startswith('abiscan.') and n not in before]\n"
        "assert len(own) > 50\n"
        "assert {m.__name__ for m in own} <= set(loaded)\n"
        "print([m.__name__ for m in own if not type(m.__loader__).__module__.startswith('abiscan')])"
    )
    good = Path(__file__).parents[1] / "fixtures" / "good-extension.so"
    ran = subprocess.run([sys.executable, "-c", program, str(good)], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]", ran.stderr
