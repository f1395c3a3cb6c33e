"""Files that the search opens: opened once, verified, and cached for the whole run."""

from __future__ import annotations

import errno
import mmap
import os
import stat
from collections.abc import Mapping

from msgspec import Struct

from abiscan.elf import ElfFile, open_elf
from abiscan.errors import UnreadableFile
from abiscan.filesystem import READ_ONLY, FileSystem
from abiscan.loader.definitions import Definitions
from abiscan.loader.failure import Undecidable
from abiscan.loader.linker import RuntimeLinker
from abiscan.loader.verify import Skip, headers_unread, verify_damaged, verify_header
from abiscan.model.loading import LoaderStop, StopKind

FileId = tuple[int, int] | str


class Opened(Struct, frozen=True):
    """A file whose header the loader accepts.

    Attributes:
        path: as composed by the loader.
        file_id: device and inode, by which the loader recognises a file that it has loaded under another name; the path
            for a file that is not on disk.
        elf: its contents; None if unreadable: then `damage` is the reason, and `complaint` the loader's error (None if
            it reports none before it maps the file).
        definitions: its exports, shared by every process into which it is mapped.
    """

    path: str
    file_id: FileId
    elf: ElfFile | None
    damage: str = ""
    complaint: str | None = None
    definitions: Definitions | None = None


class AbsentLibrary(Struct, frozen=True):
    """A path without a usable file: errno of the attempt, and whether it is a file of the other ELF class."""

    errno: int
    other_class: bool = False


class Refused(Struct, frozen=True):
    """A file at which the whole load fails."""

    stop: LoaderStop


class Files:
    """The file system, with a cache of opened files and existing directories.

    Args:
        disk: the file system on disk.
        cwd: start of relative paths.
    """

    def __init__(self, linker: RuntimeLinker, *, disk: FileSystem, cwd: str) -> None:
        self._linker = linker
        self.disk = disk
        self._cwd = cwd
        self._probes: dict[str, Opened | AbsentLibrary | Refused] = {}
        self._directories: dict[str, bool] = {}
        self._virtual: dict[str, ElfFile] = {}
        self._virtual_directories: frozenset[str] = frozenset()

    def overlay(self, files: Mapping[str, ElfFile]) -> Files:
        """A view in which `files` (path to contents) hide those on disk; the caches are shared."""
        view = Files(self._linker, disk=self.disk, cwd=self._cwd)
        view._probes = self._probes
        view._directories = self._directories
        view._virtual = {self._full(path): elf for path, elf in files.items()}
        directories: set[str] = set()
        for path in view._virtual:
            parent = os.path.dirname(path)
            while parent not in directories and parent != os.path.dirname(parent):
                directories.add(parent)
                parent = os.path.dirname(parent)
        view._virtual_directories = frozenset(directories)
        return view

    def _full(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._cwd, path))

    def is_directory(self, path: str) -> bool:
        """Whether a directory exists; `path` may end in a slash, and empty is the working directory."""
        if path not in self._directories:
            self._directories[path] = self.disk.is_directory(os.path.join(self._cwd, path))
        if self._directories[path]:
            return True
        return bool(self._virtual_directories) and self._full(path) in self._virtual_directories

    def probe(self, path: str) -> Opened | AbsentLibrary | Refused:
        """Open and verify a file as `open_verify` does.

        Raises:
            Undecidable: opening it could block (a FIFO); the loader would block.
        """
        if self._virtual:
            found = self._virtual.get(self._full(path))
            if found is not None:
                return self._probe_elf(path, found, self._identity(path))
        known = self._probes.get(path)
        if known is None:
            known = self._probes[path] = self._probe(path)
        return known

    def _identity(self, path: str) -> FileId:
        try:
            status = os.stat(self.disk.host(os.path.join(self._cwd, path)))
        except OSError:
            return self._full(path)
        return status.st_dev, status.st_ino

    def _probe(self, path: str) -> Opened | AbsentLibrary | Refused:
        normal, identity = os.path.normpath(path), self._identity(path)
        if normal != path and not isinstance(identity, str):
            # A package's libraries are reached by many spellings of one path (`$ORIGIN/../../x.libs`): the result for
            # one serves all.
            same = self._probes.get(normal)
            if same is None:
                same = self._probes[normal] = self._probe(normal)
            if isinstance(same, Opened) and same.elf is not None and same.file_id == identity:
                return Opened(path, identity, same.elf, definitions=same.definitions)
        try:
            host = self.disk.host(os.path.join(self._cwd, path))
            elf = open_elf(host, path)
        except FileNotFoundError as error:
            return AbsentLibrary(error.errno or errno.ENOENT)
        except UnreadableFile as error:
            return self._probe_bytes(path, host, error.reason)
        return self._probe_elf(path, elf, identity)

    def _probe_elf(self, path: str, elf: ElfFile, file_id: FileId) -> Opened | AbsentLibrary | Refused:
        verdict = verify_header(bytes(elf.image.buffer[:64]), self._linker)
        if verdict is None:
            return Opened(path, file_id, elf, definitions=Definitions(elf))
        return self._rejected(path, verdict)

    @staticmethod
    def _rejected(path: str, verdict: str | Skip) -> AbsentLibrary | Refused:
        if isinstance(verdict, str):
            return Refused(LoaderStop(StopKind.INVALID_FILE, path, detail=verdict))
        return AbsentLibrary(errno.ENOENT, other_class=verdict is Skip.OTHER_CLASS)

    def _probe_bytes(self, path: str, host: str, reason: str) -> Opened | AbsentLibrary | Refused:
        """Probe a file that `open_elf` cannot read: find the loader's error for it."""
        try:
            status = os.stat(host)
            if not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
                raise Undecidable(f"{path} is not a regular file; the loader would read from it")
            descriptor = os.open(host, READ_ONLY)
        except OSError as error:
            return AbsentLibrary(error.errno or errno.ENOENT)
        try:
            head = os.read(descriptor, 64)
            verdict = verify_header(head, self._linker)
            if verdict is not None:
                return self._rejected(path, verdict)
            with mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ) as buffer:
                number = headers_unread(buffer, self._linker)
                if number is not None:
                    return Refused(_unread(path, number))
                complaint = verify_damaged(buffer, path)
        except OSError as error:
            # A directory opens but cannot be read.
            return Refused(_unread(path, error.errno or 0))
        finally:
            os.close(descriptor)
        return Opened(path, (status.st_dev, status.st_ino), None, reason, complaint)


def _unread(path: str, errno: int) -> LoaderStop:
    return LoaderStop(StopKind.INVALID_FILE, path, detail="cannot read file data", errno=errno)
