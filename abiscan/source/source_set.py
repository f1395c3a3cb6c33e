"""The files around a source, and those that its `#include`s refer to.

The compiler's include path is unknown. A path is tried relative to the file's own directory; else the nearest files of
the set whose path has this end are taken. Files outside of the set (torch headers) are not read."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING

from abiscan.filesystem import HERE, FileSystem
from abiscan.source.code import Code, included_by

if TYPE_CHECKING:
    from abiscan.rules.rule import Language

# Extension -> language. Other files of a source tree are not read.
LANGUAGES: dict[str, Language] = {
    **dict.fromkeys((".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".inc"), "c++"),
    **dict.fromkeys((".cu", ".cuh"), "cuda"),
    **dict.fromkeys((".hip", ".hiph"), "hip"),
}
# Maximum number of files that one source includes, directly or not.
MAX_INCLUDED = 256
# Maximum characters of an included file; the largest headers of projects have 1 MiB.
MAX_INCLUDED_SIZE = 4 << 20
# Maximum characters of a file with all its includes.
_MAX_UNIT = 8 << 20
# Maximum number of files of one directory.
_MAX_FOLDER = 512
# Maximum characters of all files of a set that are read to find includers.
_MAX_READ = 64 << 20
# Parent directories in which a file's neighbours are searched for.
_ABOVE = 3


class FileSet:
    """Files by path, read on demand.

    Args:
        paths: of all files, with `/` between the parts; without any, nothing is found.
        read: the text of a file, or None if it cannot be read (the scan of the file itself reports this).
    """

    def __init__(self, paths: Iterable[str] = (), read: Callable[[str], str | None] = lambda _path: None) -> None:
        self._read = read
        self._paths = frozenset(paths)
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(self._paths):
            self._by_name.setdefault(posixpath.basename(path), []).append(path)
        self._kept = _Kept()

    def find(self, includer: str, name: str) -> Code | None:
        """The file of `#include "name"` in the file `includer`; None if the set does not contain it."""
        path = self._path(includer, name)
        return None if path is None else self.code(path)

    def includers(self, code: Code) -> Iterable[Code]:
        """The files that directly include this one."""
        for path in self._includers_of.get(code.path, ()):
            found = self.code(path)
            if found is not None:
                yield found

    @cached_property
    def _includers_of(self) -> dict[str, list[str]]:
        """Path -> includers. Reads the whole set once, when a header's users are needed."""
        found: dict[str, list[str]] = {}
        size = 0
        for path in sorted(self._paths):
            text = self._read(path) if size < _MAX_READ and PurePath(path).suffix.lower() in LANGUAGES else None
            if text is None or len(text) > MAX_INCLUDED_SIZE:
                continue
            size += len(text)
            for name in dict.fromkeys(included_by(text)):
                included = self._path(path, name)
                if included is not None:
                    found.setdefault(included, []).append(path)
        return found

    def _path(self, includer: str, name: str) -> str | None:
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(includer), name))
        if beside in self._paths:
            return beside
        end = posixpath.normpath(name).lstrip("./")
        ending = [
            path
            for path in self._by_name.get(posixpath.basename(name), ())
            if path != includer and (path == end or path.endswith(f"/{end}"))
        ]
        return max(ending, key=lambda path: (len(posixpath.commonprefix([path, includer])), -len(path)), default=None)

    def code(self, path: str) -> Code | None:
        """One of the files."""
        return self._kept.get(path, self._made)

    def _made(self, path: str) -> Code | None:
        text = self._read(path)
        return None if text is None or len(text) > MAX_INCLUDED_SIZE else Code(path, text)


class _Kept:
    """Cache of recently read files: at most as many characters as one source may include."""

    def __init__(self) -> None:
        self._codes: dict[str, Code | None] = {}
        self._size = 0

    def get(self, path: str, make: Callable[[str], Code | None]) -> Code | None:
        """A file by path, from the cache or `make`."""
        if path in self._codes:
            return self._codes[path]
        made = self._codes[path] = make(path)
        self._size += len(made.text) if made is not None else 0
        while self._size > _MAX_UNIT:
            # The oldest first.
            dropped = self._codes.pop(next(iter(self._codes)))
            self._size -= len(dropped.text) if dropped is not None else 0
        return made


class Neighbours:
    """Files around one file on disk: in its directory, the parents, and their `include` directories.

    Args:
        path: of that file in reports. `disk_path`: on disk.
        files: file system of `disk_path`.
    """

    def __init__(self, path: str, disk_path: str, files: FileSystem = HERE) -> None:
        self._places = {path: disk_path}
        self._kept = _Kept()
        self._files = files

    def find(self, includer: str, name: str) -> Code | None:
        """See `FileSet.find`."""
        start = self._places.get(includer)
        if start is None or os.path.isabs(name) or PurePath(name).suffix.lower() not in LANGUAGES:
            return None
        folder = os.path.dirname(start)
        for _level in range(_ABOVE + 1):
            for candidate in (os.path.join(folder, name), os.path.join(folder, "include", name)):
                code = self._kept.get(os.path.normpath(candidate), self._made)
                if code is not None:
                    return code
            if os.path.dirname(folder) == folder:
                break
            folder = os.path.dirname(folder)
        return None

    def includers(self, code: Code) -> Iterable[Code]:
        """`FileSet.includers` in the same directory."""
        place = self._places.get(code.path)
        if place is None:
            return
        folder = os.path.dirname(os.path.abspath(place))
        try:
            names = sorted(self._files.names(folder))[:_MAX_FOLDER]
        except OSError:
            return
        size = 0
        for name in names:
            if PurePath(name).suffix.lower() not in LANGUAGES:
                continue
            found = self._kept.get(os.path.join(folder, name), self._made)
            size += len(found.text) if found is not None else 0
            if size > _MAX_UNIT:
                return
            if found is not None and any(
                os.path.normpath(os.path.join(folder, each)) == os.path.abspath(place) for each in found.includes
            ):
                yield found

    def _made(self, place: str) -> Code | None:
        try:
            if not self._files.is_file(place):
                return None
            host = self._files.host(place)
            if os.path.getsize(host) > MAX_INCLUDED_SIZE:
                return None
            with open(host, "rb") as file:
                text = file.read(MAX_INCLUDED_SIZE).decode("utf-8", "replace")
        except OSError:
            return None  # ignored: the compiler reports it
        shown = place if self._files.root or os.path.relpath(place)[:2] == ".." else os.path.relpath(place)
        self._places[shown] = place
        return Code(shown, text)


SourceSet = FileSet | Neighbours


def users_of(code: Code, others: SourceSet) -> Iterator[Code]:
    """The files that include this one, directly or not, without duplicates, nearest first."""
    seen = {code.path}
    pending = [code]
    for current in pending:
        if current is not code:
            yield current
        for user in others.includers(current):
            if user.path not in seen and len(seen) < MAX_INCLUDED:
                code.steps.admit(user)
                seen.add(user.path)
                pending.append(user)


def with_included(code: Code, others: SourceSet) -> Iterator[Code]:
    """A file and the files of its set that it includes, directly or not, without duplicates, nearest first."""
    seen = {code.path}
    pending = [code]
    size = 0
    for current in pending:
        size += len(current.text)
        if size > _MAX_UNIT and current is not code:
            return
        yield current
        for name in current.includes:
            found = others.find(current.path, name) if len(seen) < MAX_INCLUDED else None
            if found is not None and found.path not in seen:
                code.steps.admit(found)
                seen.add(found.path)
                pending.append(found)
