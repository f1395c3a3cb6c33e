"""Reads the origin of an installed distribution, and finds the source tree of one in editable mode.

https://packaging.python.org/en/latest/specifications/direct-url/
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

from abiscan.filesystem import FileSystem
from abiscan.inputs import file_kind
from abiscan.model.limits import MAX_METADATA

# pip installs only directories with one of them (PEP 517, "Source trees").
PROJECT_FILES = ("pyproject.toml", "setup.py")
# Maximum number of files and directories of a source tree that are listed.
_MAX_LOOKED_AT = 20_000


def read_direct_url(site: str, dist_info: str, files: FileSystem) -> Mapping[str, object]:
    """Read direct_url.json; empty if there is none or it is unreadable."""
    raw = files.read(os.path.join(site, dist_info, "direct_url.json"), MAX_METADATA + 1)
    try:
        found = None if raw is None or len(raw) > MAX_METADATA else json.loads(raw)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def editable_directory(url: Mapping[str, object]) -> str | None:
    """Return the source tree from which a distribution is imported; None if it is not installed in editable mode."""
    place, about = url.get("url"), url.get("dir_info")
    if not isinstance(place, str) or not isinstance(about, dict) or about.get("editable") is not True:
        return None
    from urllib.parse import unquote, urlsplit

    try:
        parts = urlsplit(place)
    except ValueError:
        return None
    path = unquote(parts.path)
    return path if parts.scheme == "file" and "\0" not in path else None


def shared_objects_below(directory: str, files: FileSystem) -> Iterator[str]:
    """Yield the paths of files in a source tree that are named like shared objects, up to `_MAX_LOOKED_AT` entries.

    A directory without a file of `PROJECT_FILES` is no source tree that pip installs: a `direct_url.json` may name `/`.
    """
    if not any(files.is_file(os.path.join(directory, name)) for name in PROJECT_FILES):
        return
    left = _MAX_LOOKED_AT
    host = files.host(directory)
    for folder, below, names in os.walk(host):
        below[:] = sorted(name for name in below if not name.startswith(".") and name != "__pycache__")
        for name in filter(file_kind.named_like_shared_object, sorted(names)):
            yield os.path.normpath(os.path.join(directory, os.path.relpath(folder, host), name))
        left -= 1 + len(names)
        if left < 0:
            return
