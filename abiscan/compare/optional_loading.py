"""Shared objects that the Python code of their package loads in a `try` statement, and works without.

The sources are parsed, not run. A file is optional only if no source loads it outside of such a statement, or cannot be
read to the end."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import Final

from msgspec import Struct

from abiscan.filesystem import FileSystem
from abiscan.model.module_name import without_tag

# Of one source; sources and folders of one package.
_MAX_SIZE: Final = 1 << 20
_MAX_ENTRIES: Final = 4000
# Functions that load a file (ctypes, torch.ops), which raise OSError, and one that imports a module.
_LOADERS: Final = frozenset({"CDLL", "PyDLL", "LoadLibrary", "load_library"})
_IMPORTER: Final = "import_module"
_EVERY: Final = frozenset({"Exception", "BaseException"})
_CATCHES_LOADER: Final = _EVERY | {"OSError", "IOError", "EnvironmentError"}
_CATCHES_IMPORT: Final = _EVERY | {"ImportError"}


class _Load(Struct, frozen=True):
    """A statement that loads a shared object.

    Attributes:
        modules: that it imports; empty for a call of a loader, of a file that some string of the source names.
        caught: whether the source continues after a failure.
    """

    modules: tuple[str, ...]
    caught: bool


def optional_files(site: str, places: Collection[str], files: FileSystem) -> dict[str, str]:
    """The optional ones of the shared objects, each with the source that catches its failure.

    Args:
        site: the directory of `places`, paths with `/`.
    """
    found: dict[str, str] = {}
    for folder in dict.fromkeys(place.partition("/")[0] for place in places if "/" in place):
        wanted = [place for place in places if place.startswith(f"{folder}/")]
        caught: dict[str, str] = {}
        needed: set[str] = set()
        for source in _sources(site, folder, files) or ():
            raw = files.read(f"{site}/{source}", _MAX_SIZE)
            if raw is None or len(raw) == _MAX_SIZE:
                needed.update(wanted)
                continue
            for place, is_caught in _loads_in(source, raw, wanted):
                if is_caught:
                    caught.setdefault(place, source)
                else:
                    needed.add(place)
        found.update((place, source) for place, source in caught.items() if place not in needed)
    return found


def _sources(site: str, folder: str, files: FileSystem) -> list[str] | None:
    """The Python sources below a folder, as paths from `site`; None if not all can be listed."""
    waiting, found, count = [folder], list[str](), 0
    while waiting:
        here = waiting.pop()
        count += 1
        try:
            names = sorted(files.names(f"{site}/{here}"))
        except OSError:
            return None
        found += (f"{here}/{name}" for name in names if name.endswith(".py"))
        folders = (f"{here}/{name}" for name in names if name.isidentifier())
        waiting += (each for each in folders if files.is_directory(f"{site}/{each}"))
        if count + len(found) > _MAX_ENTRIES:
            return None
    return found


def _loads_in(source: str, raw: bytes, places: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The shared objects that a source loads, each with whether it catches the failure."""
    modules = {place: without_tag(place).rpartition(".")[0].replace("/", ".") for place in places}
    calls = any(name.encode() in raw for name in (*_LOADERS, _IMPORTER))
    if not calls and not any(module.rpartition(".")[2].encode() in raw for module in modules.values()):
        return
    try:
        tree = ast.parse(raw)
        loads = tuple(_loads(tree, source.split("/")[:-1], frozenset()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # It may need each of them.
        yield from ((place, False) for place in places)
        return
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    for place, module in modules.items():
        named = _is_named(place, module, texts)
        for load in loads:
            if module in load.modules or (named and not load.modules):
                yield place, load.caught


def _is_named(place: str, module: str, texts: Collection[str]) -> bool:
    """Whether one of the strings is the name of a file, of its module, or a pattern of it."""
    name = os.path.basename(place)
    names = {name, module, module.rpartition(".")[2]}
    return any(os.path.basename(text) in names or ("*" in text and fnmatchcase(name, text)) for text in texts)


def _loads(node: ast.AST, package: Sequence[str], caught: frozenset[str]) -> Iterator[_Load]:
    """The loading statements below a node.

    Args:
        package: of the source, for relative imports.
        caught: exceptions after which the source continues.
    """
    match node:
        case ast.Try():
            inside = caught.union(*(_caught(handler) for handler in node.handlers))
            for each in node.body:
                yield from _loads(each, package, inside)
            for other in (*node.handlers, *node.orelse, *node.finalbody):
                yield from _loads(other, package, caught)
            return
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            caught = frozenset()  # its callers may catch nothing
        case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
            for each in node.orelse:
                yield from _loads(each, package, caught)
            return
        case ast.Import():
            yield _Load(tuple(alias.name for alias in node.names), bool(caught & _CATCHES_IMPORT))
        case ast.ImportFrom():
            base = [*package[: len(package) - node.level + 1]] if node.level else []
            start = ".".join((*base, *filter(None, (node.module,))))
            names = (start, *(f"{start}.{alias.name}" for alias in node.names))
            yield _Load(names, bool(caught & _CATCHES_IMPORT))
        case ast.Call() if _last_name(node.func) in _LOADERS:
            yield _Load((), bool(caught & _CATCHES_LOADER))
        case ast.Call() if _last_name(node.func) == _IMPORTER:
            yield _Load((), bool(caught & _CATCHES_IMPORT))
        case _:
            pass
    for child in ast.iter_child_nodes(node):
        yield from _loads(child, package, caught)


def _caught(handler: ast.ExceptHandler) -> frozenset[str]:
    """The exceptions that a handler catches; none if it may raise one, or ends the process."""
    for node in ast.walk(handler):
        if isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _last_name(node.func) in ("exit", "_exit")):
            return frozenset()
    if handler.type is None:
        return _EVERY
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return frozenset(map(_last_name, kinds))


def _last_name(expression: ast.expr) -> str:
    """`exit` of `exit` and `sys.exit`; empty for another expression."""
    match expression:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
    return ""
