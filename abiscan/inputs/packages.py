"""Installed packages, found by the name of the distribution or of its import, from files alone.

Recording installed projects: https://packaging.python.org/en/latest/specifications/recording-installed-packages/ and,
for those from a directory or a URL, https://packaging.python.org/en/latest/specifications/direct-url/
"""

from __future__ import annotations

import csv
import io
import json
import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.binary import PEEK_SIZE, describe_other
from abiscan.errors import UnreadableFile, os_error_words
from abiscan.filesystem import HERE, FileSystem
from abiscan.inputs import file_kind
from abiscan.inputs.artifact import Artifact, Group, Note, Options
from abiscan.inputs.file_kind import metadata_file, name_of_record
from abiscan.inputs.members import MemberPlace, not_read, nothing_found
from abiscan.inputs.tree import DiskContent, expand_directory
from abiscan.model.limits import MAX_METADATA, MAX_RECORD
from abiscan.model.report import ArtifactKind, InputError
from abiscan.wheel.container_facts import ContainerFacts, ContainerKind
from abiscan.wheel.metadata import container_facts, find_excess_of_metadata
from abiscan.wheel.requirement_lines import normal_name

# pip installs only directories with one of them (PEP 517, "Source trees").
_PROJECT_FILES = ("pyproject.toml", "setup.py")
# Maximum number of files and directories of a source tree that are listed.
_MAX_LOOKED_AT = 20_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_MODULE_FILE = re.compile(r"^(?P<name>[^.]+)(\.(cp|pypy|abi3)[^/]*)?\.(so|pyd|py)$")


class InstalledPackage(Struct, frozen=True):
    """Location of an installed package.

    Attributes:
        name: as given by the user.
        site: absolute path of the directory of packages.
        dist_info: name of its .dist-info (or .egg-info) directory there; None for a package that no installer recorded.
        roots: names of its files or directories in `site`, used without a RECORD.
    """

    name: str
    site: str
    dist_info: str | None
    roots: tuple[str, ...]


def find_installed(name: str, site_packages: Sequence[str], files: FileSystem = HERE) -> InstalledPackage | None:
    """Find the distribution of that name, or else the one that provides the import of that name; the first in the order
    of `site_packages`. None if there is none, or if the name is invalid."""
    if not is_package_name(name):
        return None
    for site in site_packages:
        entries = _entries(site, files)
        for entry in entries:
            if normal_name(name_of_record(entry)) == normal_name(name):
                return InstalledPackage(name, site, entry, _roots(site, entry, entries, files))
    for site in site_packages:
        entries = _entries(site, files)
        roots = tuple(e for e in entries if e == name or _imports_as(e) == name)
        if roots:
            owner = next((e for e in entries if e.endswith(".dist-info") and _records(site, e, roots, files)), None)
            return InstalledPackage(name, site, owner, roots)
    return None


def is_package_name(name: str) -> bool:
    """Whether a name is valid for a distribution (dependency specifiers specification, "Names")."""
    return _NAME.fullmatch(name) is not None


def installed_names(site_packages: Sequence[str], files: FileSystem = HERE) -> list[str]:
    """The names of all distributions, for suggestions."""
    return sorted({name_of_record(e) for s in site_packages for e in _entries(s, files)} - {""})


def expand_installed(package: InstalledPackage, shown: str, options: Options) -> Iterator[Artifact | InputError | Note]:
    """The shared objects of a package.

    Args:
        shown: display path of `package.site`.
    """
    limits, files = options.limits, options.files
    place = MemberPlace(posixpath.join(shown, package.dist_info or package.roots[0]), None, 1)
    errors: list[InputError] = []
    every: set[str] = set()
    try:
        every.update(installed_files(package, limits.files, files))
    except UnreadableFile as error:
        errors.append(InputError(posixpath.join(place.display, "RECORD"), error.reason))
    names = sorted(every)
    facts, unread = _facts(package, place, names, limits.metadata, files)
    errors += unread
    group = Group(place.display, facts)
    for name in names:
        path = os.path.normpath(os.path.join(package.site, name))
        display = posixpath.normpath(posixpath.join(shown, name))
        try:
            if not files.is_file(path):
                if file_kind.named_like_shared_object(name) and package.dist_info:
                    errors.append(InputError(display, f"missing, but listed in the RECORD of {package.name}"))
                continue
            host = files.host(path)
            with open(host, "rb") as file:
                head = file.read(PEEK_SIZE)
                size = os.fstat(file.fileno()).st_size
        except OSError as error:
            errors.append(InputError(display, f"cannot be opened: {os_error_words(error)}"))
            continue
        if file_kind.shared_object_inside(head, name):
            group.add(Artifact(display, None, ArtifactKind.SHARED_OBJECT, size, group, path, name, DiskContent(host)))
        elif file_kind.named_like_shared_object(name):
            errors.append(InputError(display, describe_other(head[:512])))
    tree = None if len(group) or package.dist_info is None else _editable_tree(package.site, package.dist_info, files)
    if tree is not None:
        yield from errors
        yield from expand_directory(tree, tree, replace(options, sources=False), facts)
        return
    yield from errors
    yield from group
    if not errors and not len(group):
        note = nothing_found(place, group.facts)
        editable = any(n.startswith(("__editable__", "_editable_")) or n.endswith(".egg-link") for n in names)
        if editable:
            note = InputError(place.display, f"{package.name} is installed in editable mode: name its source directory")
        elif package.roots == (package.dist_info,) and not files.is_file(_record_of(package)):
            note = InputError(place.display, "its files are unknown: no RECORD, and no module of its name")
        yield note


def expand_environment(
    path: str, shown: str, site_packages: Sequence[str], options: Options
) -> Iterator[Artifact | InputError | Note]:
    """The shared objects of every distribution of an environment, except torch itself.

    Args:
        path: of the environment, or of one of its package directories; only `site_packages` below it are used.
        shown: display path of `path`.
    """
    files = options.files
    found = 0
    for site in site_packages:
        if not f"{site}/".startswith(f"{path}/"):
            continue
        at = posixpath.normpath(posixpath.join(shown, os.path.relpath(site, path)))
        entries = _entries(site, files)
        for entry in entries:
            name = name_of_record(entry)
            if not name or normal_name(name) == "torch":
                continue
            package = InstalledPackage(name, site, entry, _roots(site, entry, entries, files))
            if not _may_have_shared_objects(package, options) and _editable_tree(site, entry, files) is None:
                continue
            found += 1
            yield from expand_installed(package, at, options)
        if files.is_directory(os.path.join(site, "torch")):
            yield Note(at, "the libraries of torch itself are not checked: name torch/ to check them")
    if not found:
        yield Note(shown, "no installed package has a shared object")


def _editable_tree(site: str, dist_info: str, files: FileSystem) -> str | None:
    """Find the source tree of a distribution in editable mode; None if it contains no shared object."""
    tree = editable_directory(read_direct_url(site, dist_info, files))
    return tree if tree is not None and next(shared_objects_below(tree, files), None) is not None else None


def _may_have_shared_objects(package: InstalledPackage, options: Options) -> bool:
    """Whether it may contain shared objects; a package that cannot be read may."""
    try:
        return any(
            map(file_kind.named_like_shared_object, installed_files(package, options.limits.files, options.files))
        )
    except UnreadableFile:
        return True


def installed_facts(
    path: str, display: str, kind: ContainerKind, site_packages: Sequence[str], options: Options
) -> tuple[ContainerFacts | None, tuple[InputError, ...]]:
    """The declarations of the distribution to which a file or directory belongs, and read errors. None if it is in none
    of `site_packages`, or no installer recorded it.

    Args:
        path: absolute; display: its name in the report; kind: its own kind.
    """
    files = options.files
    for site in site_packages:
        top = path.removeprefix(f"{site}/").partition("/")[0] if path.startswith(f"{site}/") else ""
        package = find_installed(_imports_as(top) or top, (site,), files) if top else None
        if package is not None and package.dist_info is not None:
            place = MemberPlace(posixpath.join(display, package.dist_info), None, 1)
            facts, unread = _facts(package, place, [], options.limits.metadata, files)
            return replace(facts, kind=kind, path=display), unread
    return None, ()


def _facts(
    package: InstalledPackage, place: MemberPlace, names: list[str], limit: int, files: FileSystem
) -> tuple[ContainerFacts, tuple[InputError, ...]]:
    metadata: dict[str, bytes] = {}
    unread: list[InputError] = []
    for base in (metadata_file(package.dist_info or ""), "WHEEL"):
        if package.dist_info:
            content = files.read(os.path.join(package.site, package.dist_info, base), limit + 1)
            excess = "" if content is None else find_excess_of_metadata(base, content)
            if excess:
                unread.append(InputError(posixpath.join(place.display, base), not_read(excess)))
            elif content is not None:
                metadata[f"{package.dist_info}/{base}"] = content
    facts = container_facts(place.display, package.dist_info or package.name, ContainerKind.INSTALLED, metadata, names)
    return facts, tuple(unread)


def installed_files(package: InstalledPackage, limit: int, files: FileSystem) -> Iterator[str]:
    """Paths relative to site-packages: from the RECORD, or all files below the package's directories.

    Raises:
        UnreadableFile: the RECORD cannot be read completely, or there are more than `limit` files.
    """
    place = _record_of(package)
    record = files.read(place, MAX_RECORD + 1) if package.dist_info else None
    if record is not None:
        if len(record) > MAX_RECORD:
            raise UnreadableFile(place, f"larger than {MAX_RECORD} bytes: the files of the package are not known")
        try:
            with io.TextIOWrapper(io.BytesIO(record), "utf-8", "surrogateescape", newline="") as lines:
                for number, row in enumerate(csv.reader(lines)):
                    if number >= limit:
                        raise UnreadableFile(place, f"more than {limit} files: the rest is not looked at")
                    if row and row[0] and not row[0].startswith("/"):
                        yield posixpath.normpath(row[0])
        except csv.Error as error:
            raise UnreadableFile(place, f"no table of files ({error}): the rest is not looked at") from error
        return
    for root in package.roots:
        top = os.path.join(package.site, root)
        if not files.is_directory(top):
            if files.is_file(top):
                yield root
            continue
        start = files.host(top)
        for directory, below, names in os.walk(start):
            below[:] = sorted(d for d in below if d != "__pycache__")
            for name in sorted(names):
                limit -= 1
                if limit < 0:
                    raise UnreadableFile(top, "more files than are followed: the rest is not looked at")
                yield os.path.join(root, os.path.relpath(os.path.join(directory, name), start))


def _record_of(package: InstalledPackage) -> str:
    return os.path.join(package.site, package.dist_info or "", "RECORD")


def _entries(site: str, files: FileSystem) -> list[str]:
    try:
        return sorted(files.names(site))
    except OSError:
        return []


def roots_of(site: str, dist_info: str, files: FileSystem) -> tuple[str, ...]:
    """The files and directories of a site directory from which a distribution is imported."""
    return _roots(site, dist_info, _entries(site, files), files)


def _roots(site: str, dist_info: str, entries: list[str], files: FileSystem) -> tuple[str, ...]:
    top = files.read(os.path.join(site, dist_info, "top_level.txt"), 1 << 16) or b""
    names = set(top.decode("utf-8", "replace").split())
    if not names:
        names = {name_of_record(dist_info)}  # distutils wrote metadata alone, to a file; flit writes no such list
    return tuple(e for e in entries if e in names or _imports_as(e) in names) or (dist_info,)


def _imports_as(entry: str) -> str | None:
    match = _MODULE_FILE.match(entry)
    return match["name"] if match else None


def _records(site: str, dist_info: str, roots: tuple[str, ...], files: FileSystem) -> bool:
    record = files.read(os.path.join(site, dist_info, "RECORD"), MAX_RECORD)
    if record is None:
        return False
    text = b"\n" + record.replace(b'"', b"")
    return any(
        b"\n" + root.encode("utf-8", "surrogateescape") + end in text
        for root in roots
        for end in (b"/__init__.py,", b",")
    )


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

    A directory without a file of `_PROJECT_FILES` is no source tree that pip installs: `direct_url.json` may name `/`.
    """
    if not any(files.is_file(os.path.join(directory, name)) for name in _PROJECT_FILES):
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
