"""The modules that a project compiles when it runs: by `torch.utils.cpp_extension.load(name, sources)` in its Python
files, or from a table of modules (`{"module_moe": {"srcs": [...]}}` of aiter)."""

from __future__ import annotations

import ast
import json
import keyword
import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from msgspec import Struct

from abiscan.model.limits import MAX_SOURCE_FILES
from abiscan.source.rewrites.built_modules import (
    arguments_of,
    assigned,
    best_matching,
    last_name,
    parse_python,
    string_of,
    strings_in,
)

_MAX_SIZE = 1 << 20
_SKIPPED = frozenset({".git", ".hg", ".svn", "__pycache__", "node_modules", ".venv"})
_BLOCKS = (ast.Module, ast.If, ast.Try, ast.ExceptHandler, ast.With)
# The strings of aiter's table are f-strings of Python: f'{DIRECTORY}/pybind/moe.cu'.
_TABLE_SOURCE = re.compile(r"f'\{\w+\}/([^']+)'")


class LoadedModule(Struct, frozen=True):
    """A module that is compiled when it is first used.

    Attributes:
        name: the one that its file has.
        sources: strings in the arguments of the call.
        statement: imports it as `_bound`: Python finds it only through the variable that the call is assigned to.
    """

    name: str
    sources: tuple[str, ...]
    statement: str


class LoadedModules:
    """Those of a directory and all below it; for a file, those of its directory alone.

    Attributes:
        package: the only one with a table; empty if there is none, or several.
    """

    def __init__(self, root: Path) -> None:
        files = list(islice(_files(root), MAX_SOURCE_FILES))
        tables = [(path, module) for path in files if path.suffix == ".json" for module in _of_table(path)]
        packages = {_package(path.parent) for path, _module in tables}
        self.package = packages.pop() if len(packages) == 1 else ""
        calls = [module for path in files if path.suffix == ".py" for module in _of_python(path)]
        self._modules = [*(module for _path, module in tables), *calls]

    def of_source(self, path: str) -> LoadedModule | None:
        """The module that is compiled of a source; None if there is none, or several."""
        best = [self._modules[at] for at in best_matching([each.sources for each in self._modules], path)]
        return best[0] if len({(each.name, each.statement) for each in best}) == 1 else None


def _files(root: Path) -> Iterator[Path]:
    for folder, folders, names in os.walk(root) if root.is_dir() else islice(os.walk(root.parent), 1):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        paths = (Path(folder, name) for name in sorted(names) if name.endswith((".py", ".json")))
        yield from (path for path in paths if path.is_file())


def _text(path: Path, *words: str) -> str:
    """The text of a file; empty if it has none of some words, is large, or cannot be read."""
    try:
        text = path.read_text("utf-8", "replace") if path.stat().st_size <= _MAX_SIZE else ""
    except OSError:
        return ""
    return text if any(word in text for word in words) else ""


def _is_name(text: str) -> bool:
    """Whether an import statement can have it."""
    return text.isidentifier() and not keyword.iskeyword(text)


def _package(folder: Path) -> str:
    """The import name of a folder with __init__.py; empty for others."""
    parts: list[str] = []
    folder = folder.resolve()
    while (folder / "__init__.py").is_file() and _is_name(folder.name):
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts)


def _of_table(path: Path) -> Iterator[LoadedModule]:
    try:
        table = json.loads(_text(path, '"srcs"') or "{}")
    except (ValueError, RecursionError):
        return
    package = _package(path.parent)
    for name, row in table.items() if package and isinstance(table, dict) else ():
        sources = row.get("srcs") if isinstance(row, dict) else None
        if isinstance(sources, list) and _is_name(name):
            given = (_TABLE_SOURCE.fullmatch(each) for each in sources if isinstance(each, str))
            if found := tuple(each[1] for each in given if each):
                yield LoadedModule(name, found, f"import {package}.{name} as _bound")


def _of_python(path: Path) -> Iterator[LoadedModule]:
    package = _package(path.parent)
    module = package if path.stem == "__init__" else f"{package}.{path.stem}".lstrip(".")
    if not all(_is_name(part) for part in module.split(".")):
        return  # a script that no statement imports
    tree = parse_python(_text(path, "cpp_extension"))
    if tree is None:
        return
    strings, _classes = assigned(tree)
    for target, call in _assigned_calls(tree):
        given = arguments_of(call, ("name", "sources"))
        name = string_of(given.get("name"), strings)
        if last_name(call.func) == "load" and name is not None and "sources" in given:
            yield LoadedModule(name, tuple(strings_in(given["sources"])), f"from {module} import {target} as _bound")


def _assigned_calls(tree: ast.Module) -> Iterator[tuple[str, ast.Call]]:
    """Variables of a module with the calls that they are assigned to."""
    pending: list[ast.AST] = [tree]  # no recursion: a chain of `elif` is as deep as it is long
    while pending:
        each = pending.pop()
        if isinstance(each, _BLOCKS):
            pending += reversed(list(ast.iter_child_nodes(each)))
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Call):
            yield from ((target.id, each.value) for target in each.targets if isinstance(target, ast.Name))
