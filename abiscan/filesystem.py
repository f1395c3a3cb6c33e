"""The file system that is scanned: that of this machine, or one in a directory (an unpacked container image).

Paths are absolute in that file system; `host` translates them to this machine. Below another root a path is followed
name by name: a link with an absolute target starts at the root again, and `..` at the root stays there
(path_resolution(7), chroot(2)), so that nothing outside is reached. There is no protection against links that change
meanwhile.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence

from msgspec import Struct

# MAXSYMLINKS of Linux (include/linux/namei.h).
_MAX_LINKS = 40
_PATH_MAX = 4096


class FileSystem(Struct, frozen=True):
    """A file system.

    Attributes:
        root: the directory that is its `/`, absolute and without links; empty for that of this machine.
        shown: the root in the user's spelling.
    """

    root: str = ""
    shown: str = ""

    def host(self, path: str) -> str:
        """Translate a path to this machine; with another root, the result has no links.

        Raises:
            FileNotFoundError: with ELOOP, it has too many links; with ENAMETOOLONG, it exceeds the maximum length.
        """
        return path if not self.root else self.root + self.real(path)

    def real(self, path: str) -> str:
        """Resolve the links of a path (realpath(3)), within this file system; missing names are kept.

        Raises:
            FileNotFoundError: as in `host`.
        """
        if not self.root:
            return os.path.realpath(path)
        return "/" + "/".join(self._follow(path))

    def _follow(self, path: str) -> list[str]:
        """Resolve a path to names that are not links; after a missing name, the rest is kept."""
        if len(path) >= _PATH_MAX:
            raise FileNotFoundError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG), path[:64])
        waiting = path.split("/")[::-1]
        done: list[str] = []
        links = 0
        while waiting:
            name = waiting.pop()
            if not name:
                continue
            here = "/".join((self.root, *done))
            if name in (".", ".."):
                if not os.path.isdir(here):
                    return [*done, name]  # cannot be opened
                if name == "..":
                    del done[-1:]
                continue
            try:
                target = os.readlink(f"{here}/{name}")
            except OSError as error:
                done.append(name)
                if error.errno != errno.EINVAL:  # the name does not exist; EINVAL: not a link
                    return [*done, *(rest for rest in waiting[::-1] if rest not in ("", ".", ".."))]
                continue
            links += 1
            if links > _MAX_LINKS:
                raise FileNotFoundError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            if target.startswith("/"):
                done = []
            waiting += target.split("/")[::-1]
        return done

    def inside(self, path: str, cwd: str) -> str:
        """Translate a path that the user wrote: an existing path of this machine below the root to this file system;
        any other is one of this file system already.

        Args:
            cwd: working directory on this machine.
        """
        if not self.root:
            return path
        full = os.path.normpath(os.path.join(cwd, path))
        below = self.root.rstrip("/") + "/"
        within = "/" + full[len(below) :]
        return within if (full + "/").startswith(below) and self.is_named(within) else path

    def is_file(self, path: str) -> bool:
        """As os.path.isfile."""
        try:
            return os.path.isfile(self.host(path))
        except FileNotFoundError:
            return False

    def is_directory(self, path: str) -> bool:
        """As os.path.isdir."""
        try:
            return os.path.isdir(self.host(path))
        except FileNotFoundError:
            return False

    def exists(self, path: str) -> bool:
        """As os.path.exists."""
        try:
            return os.path.exists(self.host(path))
        except FileNotFoundError:
            return False

    def is_named(self, path: str) -> bool:
        """As os.path.lexists: true for a link with any target."""
        directory, name = os.path.split(path.rstrip("/") or "/")
        try:
            return os.path.lexists(os.path.join(self.host(directory), name))
        except FileNotFoundError:
            return False

    def read(self, path: str, limit: int) -> bytes | None:
        """Read the first `limit` bytes of a file; None if it is unreadable or not a regular file (a FIFO may block
        forever)."""
        try:
            host = self.host(path)
            if not os.path.isfile(host):
                return None
            with open(host, "rb") as file:
                # `read` allocates all of its argument. Files of /proc have size 0.
                return file.read(min(limit, os.fstat(file.fileno()).st_size or limit))
        except OSError:
            return None

    def names(self, directory: str) -> list[str]:
        """As os.listdir.

        Raises:
            OSError: it cannot be listed.
        """
        return os.listdir(self.host(directory))

    def matching(self, directory: str, pattern: str) -> list[str]:
        """Find the entries of a directory that match a shell pattern: paths, sorted; empty if it cannot be listed."""
        try:
            names = self.names(directory)
        except OSError:
            return []
        import fnmatch

        return [f"{directory}/{name}" for name in sorted(fnmatch.filter(names, pattern))]


# That of this machine.
HERE = FileSystem()


def file_type(mode: int) -> str:
    """Name the type of a file that is not regular (sys/stat.h of POSIX).

    Args:
        mode: `st_mode`.
    """
    for test, words in (
        (stat.S_ISFIFO, "a named pipe"),
        (stat.S_ISDIR, "a directory"),
        (stat.S_ISCHR, "a character device"),
        (stat.S_ISBLK, "a block device"),
        (stat.S_ISSOCK, "a socket"),
    ):
        if test(mode):
            return words
    return "a special file"


def other_owner(status: os.stat_result) -> str | None:
    """Name the owner of a file, in words; None if it is the user of this process or root.

    Args:
        status: of the opened file (fstat(2)): the path may lead to another file by now.
    """
    own = os.geteuid() if hasattr(os, "geteuid") else status.st_uid  # Windows has no user ids
    return None if status.st_uid in (0, own) else f"owned by user id {status.st_uid}"


READ_ONLY = os.O_RDONLY
"""Flags of os.open for a file that is read: not inherited by children, and never waiting for the writer of a FIFO, as
far as this system has such flags; as bytes on Windows."""
for _flag in ("O_CLOEXEC", "O_NONBLOCK", "O_BINARY"):
    READ_ONLY |= getattr(os, _flag, 0)


def read_at(descriptor: int, size: int, offset: int) -> bytes:
    """As os.pread, which Windows lacks; there the position of the descriptor moves."""
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.read(descriptor, size)


def write_at(descriptor: int, pieces: Sequence[bytes | memoryview], offset: int) -> int:
    """As os.pwritev, which Windows lacks; there the position of the descriptor moves."""
    if hasattr(os, "pwritev"):
        return os.pwritev(descriptor, pieces, offset)
    os.lseek(descriptor, offset, os.SEEK_SET)
    return os.write(descriptor, b"".join(pieces))


def why_not_own(directory: str) -> str | None:
    """Why other users may have put files into a directory, in words; None if they may not, or it does not exist."""
    try:
        status = os.stat(directory)
    except OSError:
        return None
    return other_owner(status) or ("every user can write to it" if _is_open_to_all(status) else None)


def is_world_writable(directory: str) -> bool:
    """Whether every user may put files into a directory; the sticky bit of /tmp does not prevent that (inode(7))."""
    try:
        return _is_open_to_all(os.stat(directory))
    except OSError:
        return True


def _is_open_to_all(status: os.stat_result) -> bool:
    # On Windows the mode of each directory is 0o777: access control lists decide there.
    return os.name == "posix" and bool(status.st_mode & stat.S_IWOTH)
