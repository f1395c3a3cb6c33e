"""The libraries of a file's own package that it needs, by the names with which a loader finds them."""

from __future__ import annotations

from collections.abc import Mapping

from abiscan.binary import Binary
from abiscan.model.platforms import file_key


def paths_by_library(siblings: Mapping[str, Binary]) -> dict[str, str]:
    """File names, sonames and install names of the files of a package -> path."""
    found: dict[str, str] = {}
    for path, each in siblings.items():
        found.setdefault(file_key(path), path)
        if each.soname:
            found.setdefault(file_key(each.soname), path)
    return found


def needed_of_package(binary: Binary, siblings: Mapping[str, Binary]) -> tuple[dict[str, Binary], list[str]]:
    """The siblings that a file needs, directly or indirectly, by path, and the names of the other libraries that it and
    they need, each once."""
    paths = paths_by_library(siblings)
    needed: dict[str, Binary] = {}
    outside: dict[str, str] = {}
    waiting = list(binary.needed)
    for name in waiting:  # grows while it is read: breadth first
        path = paths.get(file_key(name))
        if path is None:
            outside.setdefault(file_key(name), name)
        elif path not in needed and siblings[path].machine == binary.machine:
            needed[path] = siblings[path]
            waiting += siblings[path].needed
    return needed, list(outside.values())
