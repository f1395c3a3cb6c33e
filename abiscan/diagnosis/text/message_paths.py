"""Finds the file in the line of a message, and the paths in a text."""

from __future__ import annotations

import re
from typing import Final

_LIBRARY_SUFFIXES: Final = (".so", ".dylib", ".pyd", ".dll", ".bundle")
_PATH_MAX: Final = 4_096  # on Linux
# Characters before a file name in prose and in messages of any script.
_BEFORE_PATH: Final = "'\"`([<{,;=\u2018\u201c\u300c\u300e\u00ab\uff08\uff1a\uff0c\u3001"


def path_before(before: str) -> str | None:
    """The file before a colon: `ImportError: /x/_C.so: `."""
    line = before.rstrip(" \t:\uff1a'\"`)\u2019\u201d")
    # Its folders may contain spaces, if it is at the start of the line or after a colon.
    whole = line[line.rfind(": ") + 2 :] if ": " in line else line.lstrip()
    begins_path = whole.startswith(("/", "~")) or (whole[:1].isalpha() and whole[1:3] in (":\\", ":/"))
    if begins_path and is_file(whole) and len(whole) <= _PATH_MAX and whole.count(" /") == 0:
        return whole
    start = max(line.rfind(" "), line.rfind("\t")) + 1
    for opening in _BEFORE_PATH:
        start = max(start, line.rfind(opening) + 1)
    path = line[start:].lstrip("*>|")
    if ":" in path and path[1:3] not in (":\\", ":/"):
        path = path.rsplit(":", 1)[-1]
    if path.startswith("//"):
        return None  # of an address
    if len(path) > _PATH_MAX:
        return None
    return path if is_file(path) or (path.startswith("/") and len(path) > 1) else None


def is_file(path: str) -> bool:
    """Whether a text is the name or path of a shared object or library."""
    base = path.replace("\\", "/").rpartition("/")[2]
    return any(f"{suffix}." in f"{base}." for suffix in _LIBRARY_SUFFIXES) and "\n" not in path


def file_in_parentheses(rest: str) -> str | None:
    r"""The file after the symbol in output of `ldd -r`: `undefined symbol: f\t(./libx.so)`; or `f in x.so`."""
    line = rest.rstrip()
    if not line.endswith(")"):
        found = _IN_FILE.search(rest, 0, _FAR)
        return None if found is None else found[1]
    path = line[line.rfind("(") + 1 : -1]
    return path if is_file(path) or ("/" in path and " " not in path) else None


_FAR: Final = 4_096  # characters
_IN_FILE = re.compile(r"[\w'\"`)>] in ['\"`]?([\w./+~-]{1,1024}\.(?:so(?:\.\d{1,4}){0,4}|pyd|dylib))(?![\w.]\w)")
_PATH = re.compile(r"(?<![\w.~$\\/])(/(?!/)[^\s:'\"`(),;|<>\u2018\u2019\u201c\u201d]{4,1024})")
_PATHS = 64


def paths_in(text: str) -> tuple[str, ...]:
    """Absolute paths of files in a text, without duplicates, up to a limit."""
    found: dict[str, None] = {}
    for match in _PATH.finditer(text):
        path = match[1]
        if any(part in path for part in (".so", ".py", "/site-packages", "/dist-packages", ".dylib")):
            found[path] = None
            if len(found) == _PATHS:
                break
    return tuple(found)
