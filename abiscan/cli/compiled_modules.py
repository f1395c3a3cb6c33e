"""Imports modules of abiscan from their compiled files in four system calls each.

The finder of Python takes twelve, and searches names that no module here has. For the 260 modules of a scan, that is 30
of 820 million instructions and a tenth of the time. Whatever is unusual is left to Python: a file that is not compiled,
or is older than its source, or is verified by its hash (PEP 552), and a package in an archive.
"""

from __future__ import annotations

import _thread
import marshal
import os
import sys
from collections.abc import Callable, Sequence
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


# The function is private: later releases may call it in another way.
_UNKNOWN_IMPORT = (3, 15)
_FindAndLoad = Callable[[str, Callable[[str], object]], ModuleType]


if sys.version_info < (3, 12):

    class _Module(ModuleType):
        """A module in which a search for a name that it lacks costs less. Each `from module import name` searches
        `__path__`, and Python 3.11 formats two messages of errors for it: 7 of 700 million instructions of a scan."""

        __getattribute__ = object.__getattribute__

else:
    _Module = ModuleType


def _without_locks(finder: _Finder, of_python: _FindAndLoad) -> _FindAndLoad:
    """`importlib._bootstrap._find_and_load`, which Python calls for a module that is not in `sys.modules`, without the
    lock of each module and the searches of other finders: 20 of 440 million instructions of a scan. The locks keep
    threads from importing a module at the same time; while there is another thread, Python's function is called."""
    modules = sys.modules

    def find_and_load(name: str, import_: Callable[[str], object]) -> ModuleType:
        if not name.startswith(_PREFIX) or name in modules or _thread._count():
            return of_python(name, import_)
        parent, _, last = name.rpartition(".")
        if parent not in modules:
            import_(parent)
            if name in modules:
                return modules[name]
        package = modules[parent]
        spec = finder.find_spec(name, package.__path__)
        if spec is None or spec.loader is None:
            return of_python(name, import_)
        inside = spec.submodule_search_locations
        module = ModuleType(name) if inside is not None else _Module(name)
        if inside is not None:
            module.__path__ = inside
        module.__dict__.update(
            __spec__=spec,
            __loader__=spec.loader,
            __package__=parent if inside is None else name,
            __file__=spec.origin,
            __cached__=spec.cached,
        )
        # Python's mark, for the messages of circular imports.
        spec._initializing = True  # type: ignore[attr-defined]
        modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            modules.pop(name, None)
            raise
        finally:
            spec._initializing = False  # type: ignore[attr-defined]
        module = modules[name]
        setattr(package, last, module)
        return module

    return find_and_load


def import_compiled_modules() -> None:
    """Import modules of abiscan like this from now on in this process."""
    tag = sys.implementation.cache_tag
    if os.name == "posix" and tag is not None and sys.pycache_prefix is None:
        level = sys.flags.optimize
        finder = _Finder(f".{tag}.opt-{level}.pyc" if level else f".{tag}.pyc")
        sys.meta_path.insert(0, finder)
        bootstrap = sys.modules.get("_frozen_importlib")
        of_python = getattr(bootstrap, "_find_and_load", None)
        if of_python is not None and sys.version_info < _UNKNOWN_IMPORT:
            vars(bootstrap)["_find_and_load"] = _without_locks(finder, of_python)
