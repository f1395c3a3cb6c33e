"""Rewrites all sources below a path."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from abiscan.errors import UnreadableFile
from abiscan.model.limits import MAX_SOURCE_SIZE
from abiscan.rules import load_rules
from abiscan.source import FileSet, Neighbours, SourceRules, SourceSet, sources_below
from abiscan.source.rewrites.built_modules import module_of_cmake, module_of_setup, read_project
from abiscan.source.rewrites.loaded_modules import LoadedModules
from abiscan.source.rewrites.registration_stub import BoundModule
from abiscan.source.rewrites.rewrite import STUB_RULE, RequestedFunction, Rewritten, rewrite_source, stubs_for


def rewrite_tree(
    root: Path,
    wanted: frozenset[str],
    errors: list[str],
    requested: RequestedFunction | None = None,
) -> Iterator[Rewritten]:
    """Rewrite the sources below a path; nothing is written.

    Args:
        errors: read errors are appended to it.
        requested: the only function to register.
    """
    rules = SourceRules(rule for rule in load_rules() if rule.id in wanted)
    listed = [os.path.relpath(path).replace(os.sep, "/") for path in sources_below(root)]
    others: SourceSet = Neighbours(listed[0], str(root)) if root.is_file() and listed else FileSet(listed, _text)
    loaded: LoadedModules | None = None
    for path in listed:
        text = _text(path)
        if text is None:
            errors.append(f"{path}: cannot be read")
            continue
        if os.path.islink(path):
            continue  # the target of a link is rewritten in its own place
        try:
            made = rewrite_source(text, path, rules, others, wanted)
        except UnreadableFile as error:
            errors.append(str(error))
            continue
        if made.changes or made.unchanged:
            yield made
        if STUB_RULE in wanted and "PYBIND11_MODULE" in text:
            loaded = loaded or LoadedModules(root)
            yield from stubs_for(text, path, rules, others, _module_of(path, loaded), requested=requested)


def _text(path: str) -> str | None:
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > MAX_SOURCE_SIZE:
            return None
        # Bytes that are not UTF-8 are written back unchanged.
        return Path(path).read_bytes().decode("utf-8", "surrogateescape")
    except OSError:
        return None


def _module_of(path: str, loaded: LoadedModules) -> BoundModule:
    """A module that the project compiles when it runs; else the one according to the nearest setup.py, CMakeLists.txt
    or pyproject.toml above that defines it."""
    if (at_run_time := loaded.of_source(path)) is None:
        return BoundModule(_built_module(path, loaded.package) or "")
    statement = at_run_time.statement
    if statement.startswith("import "):
        return BoundModule(statement.split()[1])
    return BoundModule(at_run_time.name, statement=statement)


def _built_module(path: str, package: str) -> str | None:
    folders = Path(path).resolve().parents[:6]
    project = read_project(next((text for folder in folders if (text := _build(folder, "pyproject.toml"))), ""))
    for folder in folders:
        setup, cmake = _build(folder, "setup.py"), _build(folder, "CMakeLists.txt")
        found = module_of_setup(setup, path, package) if setup else None
        found = found or (module_of_cmake(cmake, path, project) if cmake else None)
        if found is not None:
            return found
        if setup or _build(folder, "pyproject.toml"):
            break
    return project.module_of(path)


def _build(folder: Path, name: str) -> str | None:
    return _text(str(folder / name))
