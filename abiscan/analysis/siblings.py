"""Load path of an artifact, and the shared objects of its package that it needs."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable, Iterator, Mapping

from msgspec import Struct

from abiscan.analysis.scan_options import ScanOptions
from abiscan.binary import Binary, open_binary
from abiscan.errors import UnreadableFile
from abiscan.filesystem import FileSystem
from abiscan.inputs import Artifact, Group
from abiscan.model.platforms import file_key
from abiscan.model.report import ArtifactKind
from abiscan.ownership.torch_names import is_namesake
from abiscan.target.build_names import release_in_name

# Number of libraries that are kept open (mapped, not read): the files of a package need the same ones.
_KEPT = 1024


def load_path(artifact: Artifact, options: ScanOptions) -> str:
    """The absolute path at which a loader would open the artifact: its path, or the path after installing its wheel."""
    if artifact.disk_path is not None:
        return artifact.disk_path
    site = options.environment.site_packages if options.environment is not None else ()
    root = site[0] if site else options.settings.cwd
    return os.path.normpath(os.path.join(root, artifact.package_path))


def needed_siblings(artifact: Artifact, binary: Binary, options: ScanOptions) -> Mapping[str, Binary]:
    """Path -> contents of the libraries of its package that the file needs, directly or indirectly."""
    found: dict[str, Binary] = {}
    waiting = list(binary.needed)
    seen: set[str] = set()
    while waiting:
        soname = waiting.pop()
        if soname in seen:
            continue
        seen.add(soname)
        for path, sibling in _named(artifact, soname, options):
            if path not in found:
                found[path] = sibling
                waiting += sibling.needed
    return found


@functools.lru_cache(maxsize=1)
def _namesakes(group: Group) -> frozenset[str]:
    return frozenset(key for each in group if is_namesake(key := file_key(each.package_path)))


def namesakes(artifact: Artifact, siblings: Iterable[str]) -> frozenset[str]:
    """The file names of those libraries of its package that only have the name of a torch library.

    Args:
        siblings: paths of libraries that the file needs, if it is not part of a package with others.
    """
    return _namesakes(artifact.group).union(filter(is_namesake, map(file_key, siblings)))


def exported_beside(artifact: Artifact, names: Iterable[str]) -> dict[str, str]:
    """Name -> file name of the shared object of the same package that exports it. If the package loads that file first
    with global scope, files that do not need it can resolve the name."""
    found: dict[str, str] = {}
    asked = tuple(dict.fromkeys(names))
    wanted = set(asked)
    others = (each for each in artifact.group if wanted and each.package_path != artifact.package_path)
    for sibling, opened in _readable(others):
        here = opened.exported_among(asked) & wanted
        found.update(dict.fromkeys(here, sibling.package_path.rpartition("/")[2]))
        wanted -= here
    return found


def _readable(members: Iterable[Artifact]) -> Iterator[tuple[Artifact, Binary]]:
    """The shared objects of a package, each with its tables."""
    for each in members:
        if each.kind is ArtifactKind.SHARED_OBJECT:
            try:
                opened = each.open_tables()
            except UnreadableFile:
                continue  # it is an artifact of its own, and reported as such
            yield each, opened


class _Needs(Struct, frozen=True):
    """What a file of a package needs, by its path in the package, file name and soname."""

    package_path: str
    name: str
    soname: str | None
    needed: tuple[str, ...]


@functools.lru_cache(maxsize=1)
def _needs(group: Group) -> tuple[_Needs, ...]:
    return tuple(
        _Needs(each.package_path, each.package_path.rpartition("/")[2], opened.soname, tuple(opened.needed))
        for each, opened in _readable(group)
    )


def needed_by_dependents(artifact: Artifact, binary: Binary) -> tuple[str, ...]:
    """The sonames in the closures of those shared objects of the package that need this file, directly or indirectly.
    If one of them is loaded, this file is resolved in its scope."""
    opened = [each for each in _needs(artifact.group) if each.package_path != artifact.package_path]
    wanted = {artifact.package_path.rpartition("/")[2], binary.soname}
    found: dict[str, None] = {}
    while True:
        dependents = [each for each in opened if wanted & {name.rpartition("/")[2] for name in each.needed}]
        if not dependents:
            break
        opened = [each for each in opened if each not in dependents]
        for dependent in dependents:
            wanted |= {dependent.name, dependent.soname}
            found.update(dict.fromkeys(dependent.needed))
    beside = {each.name: each for each in opened}
    waiting = list(found)
    while waiting:
        other = beside.pop(waiting.pop().rpartition("/")[2], None)
        if other is not None:
            waiting += [name for name in other.needed if name not in found]
            found.update(dict.fromkeys(other.needed))
    return tuple(found)


def _named(artifact: Artifact, soname: str, options: ScanOptions) -> Iterator[tuple[str, Binary]]:
    name = soname.rpartition("/")[2]
    release = release_in_name(artifact.package_path)
    others = (each for each in artifact.group.named(name) if each.package_path != artifact.package_path)
    if release:
        # A build for one release of torch uses the libraries of the same build.
        others = (each for each in others if release_in_name(each.package_path) in (None, release))
    for sibling, opened in _readable(others):
        yield load_path(sibling, options), opened
    if artifact.disk_path is not None and len(artifact.group) == 1:
        yield from _beside(artifact.disk_path, soname, options.settings.files)


def _beside(path: str, soname: str, files: FileSystem) -> Iterator[tuple[str, Binary]]:
    """A library that its name locates (`@loader_path/../.dylibs/libx.dylib`), or in the usual directories of packages:
    beside the module, in `lib`, in `<package>.libs`."""
    name = soname.rpartition("/")[2]
    directory = os.path.dirname(path)
    parent = os.path.dirname(directory)
    package = os.path.basename(directory)
    located = soname.startswith("@loader_path/")
    first = os.path.dirname(soname.replace("@loader_path", directory, 1)) if located else directory
    names = (first, directory, f"{directory}/lib", f"{directory}/.dylibs", parent, f"{parent}/{package}.libs")
    for place in map(os.path.normpath, names):
        candidate = os.path.join(place, name)
        if name[-4:].lower() == ".dll" and files.is_directory(place):
            # Windows does not tell HELPER.dll from helper.dll.
            same = (each for each in files.names(place) if file_key(each) == file_key(name))
            candidate = os.path.join(place, next(same, name))
        if files.is_file(candidate) and candidate != path:
            try:
                host = files.host(candidate)
                status = os.stat(host)
                yield (
                    candidate,
                    _opened(host, candidate, status.st_dev, status.st_ino, status.st_mtime_ns, status.st_size),
                )
            except (UnreadableFile, FileNotFoundError):
                continue
            return


@functools.lru_cache(maxsize=_KEPT)
def _opened(host: str, shown: str, *identity: int) -> Binary:
    """The library at a path, cached by file identity, so that its tables are shared by the files that need it."""
    return open_binary(host, shown)
