"""One wheel or archive of a registry, and the units of a run."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from abiscan.errors import UnreadableFile, UsageError
from abiscan.inputs import Archives, archives_of
from abiscan.inputs.byte_source import FileBytes
from abiscan.inputs.ranged_bytes import RangedBytes, WholeFile
from abiscan.inputs.remote import is_remote, open_remote, remote_files
from abiscan.inputs.remote_file import RemoteFile
from abiscan.model.platforms import OperatingSystem
from abiscan.model.report import InputError
from abiscan.report.json_report import text
from abiscan.wheel.requirement_lines import normal_name
from abiscan.wheel.tags import systems_of_wheel
from abiscan.wheel.wheel_name import split_wheel_name


class Unit(Struct, frozen=True):
    """One wheel or archive.

    Attributes:
        display: its name as valid Unicode, unique in a run.
        identity: identifies its contents without reading them: `sha256:...` of an index, `etag:...` or `modified:...`
            of a server, `file:SIZE:MTIME` of a local file; None if unknown.
        path: absolute path of a local file.
        remote: set if the file is on a server.
    """

    display: str
    identity: str | None
    path: str | None = None
    remote: RemoteFile | None = None

    def open(self, *, whole: bool = False) -> FileBytes | RangedBytes | WholeFile:
        """Open its contents.

        Raises:
            UnreadableFile, UsageError: see `inputs.remote.open_remote`.
        """
        if self.remote is not None:
            return open_remote(self.remote, whole=whole)
        if self.path is None:
            raise UnreadableFile(self.display, "no stored facts: scan it first (abiscan registry scan --resume)")
        return FileBytes(self.path, self.display)


def units_of(
    targets: Sequence[str],
    cwd: str,
    listed: Sequence[str] = (),
    latest: int | None = None,
    systems: frozenset[OperatingSystem] = frozenset(OperatingSystem),
) -> Iterator[Unit | InputError]:
    """The units of the targets, without duplicates, as they are listed: archives, archives in directories, and files on
    servers. A directory or server that cannot be listed gives an error in the result.

    Args:
        listed: targets from lists (`-r`); if one does not exist, the result has an error.
        latest: releases of each project in a directory or index, the newest; None for all.
        systems: wheels whose file names are for other systems are left out.

    Raises:
        UsageError: immediately, if a target does not exist or contains no archive.
    """
    found = [target if is_remote(target) else _here(target, cwd) for target in targets]
    units = _units(found, listed, cwd, latest)
    return (
        unit
        for unit in units
        if isinstance(unit, InputError) or systems_of_wheel(unit.display.rpartition("/")[2]) & systems
    )


def _units(
    targets: Sequence[str | Archives], listed: Sequence[str], cwd: str, latest: int | None
) -> Iterator[Unit | InputError]:
    seen: set[str] = set()
    for target in targets:
        yield from _new(_behind(target, cwd, latest), seen)
    for name in listed:
        try:
            yield from _new(_behind(name if is_remote(name) else _here(name, cwd), cwd, latest), seen)
        except UsageError as error:
            yield InputError(text(name), str(error).removeprefix(f"{name}: "))


def _here(target: str, cwd: str) -> Archives:
    found = archives_of([target.removeprefix("file://")], cwd=cwd)
    if not found.archives and not found.errors:
        raise UsageError(f"{target}: no wheel and no archive in it; a registry run looks at those alone")
    return found


def _behind(target: str | Archives, cwd: str, latest: int | None) -> Iterator[Unit | InputError]:
    if isinstance(target, Archives):
        yield from (InputError(text(error.path), error.message) for error in target.errors)
        kept = target.archives if latest is None else _latest(target.archives, latest)
        yield from (local_unit(display, cwd) for display in kept)
        return
    try:
        for found in remote_files(target, latest):
            if isinstance(found, InputError):
                yield InputError(text(found.path), found.message)
            else:
                file = _identified(found)
                yield Unit(text(file.display), file.identity, remote=file)
    except UnreadableFile as error:
        yield InputError(text(error.path), error.reason)


def _latest(archives: Sequence[str], number: int) -> Iterator[str]:
    """The wheels of the newest releases of each project, by their file names; other archives stay."""
    from abiscan.inputs.package_index import newest_versions

    releases: dict[str, set[str]] = {}
    for display in archives:
        project, version = _release(display)
        releases.setdefault(project, set()).add(version)
    newest = {project: newest_versions(versions, number) for project, versions in releases.items()}
    for display in archives:
        project, version = _release(display)
        if version in newest[project]:
            yield display


def _release(display: str) -> tuple[str, str]:
    """The project and version in the name of a wheel; another file is a project without a version."""
    named = split_wheel_name(display.rpartition("/")[2])
    return (normal_name(named[0]), named[1]) if named is not None else (display, "")


def _identified(file: RemoteFile) -> RemoteFile:
    """A file with the identity from its server, if the index has no hash."""
    if file.identity is not None or not file.url.startswith(("http://", "https://")):
        return file
    from abiscan.inputs.http_bytes import with_validators  # imports packages that local runs do not need

    return with_validators(file)


def _new(found: Iterator[Unit | InputError], seen: set[str]) -> Iterator[Unit | InputError]:
    for each in found:
        display = each.path if isinstance(each, InputError) else each.display
        if display not in seen:
            seen.add(display)
            yield each


def local_unit(display: str, cwd: str) -> Unit:
    """The unit of a local file."""
    path = os.path.join(cwd, display)
    try:
        status = os.stat(path)
    except OSError:
        return Unit(text(display), None, path)  # deleted since it was listed: its scan reports that
    return Unit(text(display), f"file:{status.st_size}:{status.st_mtime_ns}", path)
