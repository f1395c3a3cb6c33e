"""Distributions installed in an environment, from their records.


Recording installed projects: https://packaging.python.org/en/latest/specifications/recording-installed-packages/
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from abiscan.errors import UnreadableFile
from abiscan.filesystem import HERE, FileSystem
from abiscan.inputs import file_kind
from abiscan.inputs.file_kind import metadata_file, name_of_record
from abiscan.inputs.members import not_read
from abiscan.inputs.packages import (
    InstalledPackage,
    editable_directory,
    installed_files,
    is_package_name,
    read_direct_url,
    roots_of,
    shared_objects_below,
)
from abiscan.model.limits import MAX_METADATA
from abiscan.wheel.metadata import find_excess_of_metadata, headers
from abiscan.wheel.requirement_lines import normal_name

# Maximum number of files of a distribution.
_MAX_FILES = 200_000


class Distribution(Struct, frozen=True):
    """An installed distribution.

    Attributes:
        requires_dist: `Requires-Dist` lines, unparsed.
        shared_objects: absolute paths of files named like shared objects; in editable mode those of the source tree.
        from_source: installed from a directory or a repository, not from an index (direct_url.json).
        hides: directories with other installations of the same name, later on the path.
        unread: why its requirements or files are unknown, in sentences.
    """

    name: str
    version: str
    package: InstalledPackage
    requires_dist: tuple[str, ...]
    shared_objects: tuple[str, ...]
    from_source: bool
    hides: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()


def distributions(site_packages: Sequence[str], files: FileSystem = HERE) -> tuple[Distribution, ...]:
    """The distributions that `import` finds, by name; of several with one name the first, which hides the others.

    Args:
        site_packages: directories in search order.
    """
    found: dict[str, list[Distribution]] = {}
    for site in site_packages:
        for each in _of_site(site, files):
            found.setdefault(normal_name(each.name), []).append(each)
    return tuple(_first(same) for _name, same in sorted(found.items()))


def _first(same: list[Distribution]) -> Distribution:
    others = tuple(f"{d.version} in {d.package.site}" for d in same[1:])
    return replace(same[0], hides=others) if others else same[0]


def _of_site(site: str, files: FileSystem) -> Iterator[Distribution]:
    try:
        names = sorted(filter(name_of_record, files.names(site)))
    except OSError:
        return
    for dist_info in names:
        name, place = name_of_record(dist_info), os.path.join(site, dist_info, metadata_file(dist_info))
        version = dist_info.removeprefix(f"{name}-").rpartition(".")[0]
        raw = files.read(place, MAX_METADATA + 1)
        if not is_package_name(name) or raw is None:
            continue
        excess = find_excess_of_metadata("METADATA", raw)
        fields = {} if excess else headers(raw)
        unread = [f"{place}: {not_read(excess)}"] if excess else []
        url = read_direct_url(site, dist_info, files)
        tree = editable_directory(url)
        package = InstalledPackage(name, site, dist_info, roots_of(site, dist_info, files))
        objects: list[str] = []
        try:
            objects += filter(file_kind.named_like_shared_object, installed_files(package, _MAX_FILES, files))
        except UnreadableFile as error:
            unread.append(str(error))
        if tree is not None and not objects:
            objects += shared_objects_below(tree, files)
        yield Distribution(
            name=next(filter(is_package_name, fields.get("name", ())), name),
            version=(fields.get("version") or [version])[0],
            package=package,
            requires_dist=tuple(fields.get("requires-dist", ())),
            shared_objects=tuple(sorted({os.path.normpath(os.path.join(site, each)) for each in objects})),
            from_source="dir_info" in url or "vcs_info" in url,
            unread=tuple(unread),
        )
