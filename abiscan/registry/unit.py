"""One wheel or archive of a registry, and how the targets of a run become units."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from msgspec import Struct

from abiscan.errors import UnreadableFile, UsageError
from abiscan.model.report import InputError
from abiscan.targets import archives_of
from abiscan.targets.byte_source import FileBytes
from abiscan.targets.ranged_bytes import RangedBytes, WholeFile
from abiscan.targets.remote import RemoteFile, is_remote, open_remote, remote_files


class Unit(Struct, frozen=True):
    """One wheel or archive.

    Attributes:
        display: how it is called; one unit of a run has each.
        identity: what tells its contents from others without reading them: `sha256:...` of an index, `etag:...` of a
            store, `file:SIZE:MTIME` of a file here; None where nobody says.
        path: absolute, of a file here.
        remote: of one on a server.
    """

    display: str
    identity: str | None
    path: str | None = None
    remote: RemoteFile | None = None

    def open(self, *, whole: bool = False) -> FileBytes | RangedBytes | WholeFile:
        """Its bytes.

        Raises:
            UnreadableFile, UsageError: as `targets.remote.open_remote`.
        """
        if self.remote is not None:
            return open_remote(self.remote, whole=whole)
        if self.path is None:
            raise UnreadableFile(self.display, "no facts of it are stored: scan it (abiscan scan --resume)")
        return FileBytes(self.path, self.display)


def units_of(targets: Sequence[str], cwd: str) -> Iterator[Unit | InputError]:
    """The units behind the targets, each once, as they are listed: archives that are named or lie in a directory, and
    what servers list.

    Raises:
        UsageError: a target does not exist, or holds no archive.
    """
    seen: set[str] = set()
    for target in targets:
        if is_remote(target):
            try:
                for found in remote_files(target):
                    if isinstance(found, InputError):
                        yield found
                    elif found.display not in seen:
                        seen.add(found.display)
                        yield Unit(found.display, found.identity, remote=found)
            except UnreadableFile as error:
                yield InputError(error.path, error.reason)
            continue
        path = target.removeprefix("file://")
        archives = archives_of([path], cwd=cwd).archives
        if not archives:
            raise UsageError(f"{target}: no wheel and no archive in it; a registry run looks at those alone")
        for display in archives:
            if display not in seen:
                seen.add(display)
                yield local_unit(display, cwd)


def local_unit(display: str, cwd: str) -> Unit:
    """The unit of a file here."""
    path = os.path.join(cwd, display)
    try:
        status = os.stat(path)
    except OSError:
        return Unit(display, None, path)  # gone since it was listed: its scan says so
    return Unit(display, f"file:{status.st_size}:{status.st_mtime_ns}", path)
