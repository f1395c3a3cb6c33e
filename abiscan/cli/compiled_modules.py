"""Imports modules of abiscan from their compiled files in four system calls each.

The finder of Python takes twelve, and searches names that no module here has. For the 260 modules of a scan, that is 30
of 820 million instructions and a tenth of the time. Whatever is unusual is left to Python: a file that is not compiled,
or is older than its source, or is verified by its hash (PEP 552), and a package in an archive.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER
from types import ModuleType

_PREFIX = "abiscan."
# The largest module takes 46 KiB.
_READ = 64 << 10
# Of a file with a time stamp; then follow the time and size of the source, and the code.
_HEADER = MAGIC_NUMBER + bytes(4)
_HEADER_SIZE = 16


class _Loader(SourceFileLoader):
    def __init__(self, name: str, source: str, compiled: bytes) -> None:
        super().__init__(name, source)
        self._compiled: bytes | None = compiled

    def exec_module(self, module: ModuleType) -> None:
        compiled, self._compiled = self._compiled, None
        if compiled is None:  # reloaded
            super().exec_module(module)
        else:
            exec(marshal.loads(memoryview(compiled)[_HEADER_SIZE:]), module.__dict__)


class _Finder:
    def __init__(self, suffix: str) -> None:
        self._suffix = suffix

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        if path is None or not name.startswith(_PREFIX):
            return None
        last = name[name.rindex(".") + 1 :]
        for directory in path:
            for folder, stem in ((directory, last), (f"{directory}/{last}", "__init__")):
                source, cached = f"{folder}/{stem}.py", f"{folder}/__pycache__/{stem}{self._suffix}"
                try:
                    status = os.stat(source)
                    compiled = _read(cached)
                except OSError:
                    continue
                stamp = int(status.st_mtime) & 0xFFFFFFFF | (status.st_size & 0xFFFFFFFF) << 32
                if len(compiled) == _READ or not compiled.startswith(_HEADER + stamp.to_bytes(8, "little")):
                    return None
                spec = ModuleSpec(name, _Loader(name, source, compiled), origin=source, is_package=stem == "__init__")
                spec.cached = cached
                spec.has_location = True
                if spec.submodule_search_locations is not None:
                    spec.submodule_search_locations.append(folder)
                return spec
        return None


def _read(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, _READ)
    finally:
        os.close(descriptor)


def import_compiled_modules() -> None:
    """Import modules of abiscan like this from now on in this process."""
    tag = sys.implementation.cache_tag
    if os.name == "posix" and tag is not None and sys.pycache_prefix is None:
        level = sys.flags.optimize
        sys.meta_path.insert(0, _Finder(f".{tag}.opt-{level}.pyc" if level else f".{tag}.pyc"))
