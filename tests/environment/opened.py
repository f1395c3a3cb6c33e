"""Runs the functions of a `torch/__init__.py` and records what they open: the oracle for tests of the reader."""

from __future__ import annotations
import __future__

import ast
import ctypes
import functools
import glob
import io
import os
import platform
import re
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from abiscan.environment.preload_sequence import Preload, Preloads
from abiscan.environment.preloads import find_preload

GLOBAL = "libtorch_global_deps.so"


class Loader:
    """Replaces ctypes: records opened libraries, and fails on the global dependencies at first if requested."""

    RTLD_GLOBAL = ctypes.RTLD_GLOBAL

    def __init__(self, refusal: str | None) -> None:
        self._refusal = refusal
        self.opened: list[str] = []

    def CDLL(self, path: str, mode: int = 0) -> None:  # noqa: N802 - its name in ctypes
        if path.endswith(GLOBAL) and self._refusal is not None:
            text, self._refusal = self._refusal, None
            raise OSError(text)
        self.opened.append(path)


def opened_by_running(
    source: str, directories: Sequence[Path], *, cuda: str | None, maps: str, refusal: str | None
) -> list[str]:
    """Run `_load_global_deps` of a source. Return the opened paths, with `GLOBAL` for the global dependencies.

    Args:
        directories: `sys.path`.
        maps: contents of /proc/self/maps.
        refusal: the first error of the global dependencies.
    """
    loader = Loader(refusal)
    names = {
        "__file__": "/torch/__init__.py",
        "ctypes": loader,
        "glob": glob,
        "os": os,
        "platform": platform,
        "sys": types.SimpleNamespace(path=[str(each) for each in directories], modules={}, executable=""),
        "open": {"/proc/self/maps": io.StringIO(maps)}.__getitem__,
        "importlib": types.SimpleNamespace(util=types.SimpleNamespace(find_spec=lambda name: None)),
    }
    with _torch_version(cuda):
        exec(_compiled(source), names)
        try:
            names["_load_global_deps"]()
        except (OSError, ValueError, UnboundLocalError):
            loader.opened.append("raises")
    return [GLOBAL if path.endswith(GLOBAL) else path for path in loader.opened]


@functools.cache
def _compiled(source: str) -> types.CodeType:
    """The functions that `_load_global_deps` may call; annotations are not evaluated."""
    wanted = re.compile("_load_global_deps|cuda|deploy|_open")
    functions = [f for f in ast.parse(source).body if isinstance(f, ast.FunctionDef) and wanted.search(f.name)]
    for function in functions:
        function.decorator_list = []
    flags = __future__.annotations.compiler_flag
    return compile(ast.Module(list(functions), []), "torch/__init__.py", "exec", flags=flags)


@contextmanager
def _torch_version(cuda: str | None) -> Iterator[None]:
    """Provides `from torch.version import cuda` without a torch."""
    package, version = types.ModuleType("torch"), types.ModuleType("torch.version")
    version.cuda = cuda  # type: ignore[attr-defined]
    with mock.patch.dict(sys.modules, {"torch": package, "torch.version": version}):
        yield


def opened_by_reading(
    preloads: Preloads, directories: Sequence[Path], *, cuda: str | None, maps: str, refusal: str | None
) -> list[str]:
    """The same, from the reader."""
    if refusal is not None:
        if not any(part in refusal for part in preloads.errors):
            return ["raises"]
        opened, ended = _follow(preloads.instead, directories, cuda)
        return [*opened, "raises" if ended else GLOBAL]
    if preloads.runtime is not None and preloads.runtime not in maps:
        return [GLOBAL]
    return [GLOBAL, *_follow(preloads.after, directories, cuda)[0]]


def _follow(sequence: Sequence[Preload], directories: Sequence[Path], cuda: str | None) -> tuple[list[str], bool]:
    opened = []
    for each in sequence:
        path = find_preload(each, [str(directory) for directory in directories], cuda)
        if path is not None:
            opened.append(path)
        elif each.required:
            return opened, True
    return opened, False


def libraries_of(preloads: Preloads, directory: Path, *, cuda: str, place: int) -> None:
    """Install every library of a sequence, at the `place`th of its patterns (or the last)."""
    for each in (*preloads.after, *preloads.instead):
        pattern = each.patterns[min(place, len(each.patterns) - 1)].replace("{cuda}", cuda.partition(".")[0])
        file = directory / pattern.replace("*[0-9]", "12").replace("[0-9]", "1")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
