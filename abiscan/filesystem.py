"""The file system that is looked at: this machine's own, or one that lies in a directory (an unpacked container image).

Paths are those of that system, absolute; `host` says where one is here. Below another root it is followed name by name:
a link with an absolute target starts at the root again, and `..` at the root stays there (path_resolution(7),
chroot(2)), so that nothing outside is reached. Somebody who exchanges the links meanwhile is not guarded against.
"""

from __future__ import annotations

import errno
import os
import stat

from msgspec import Struct

# MAXSYMLINKS of Linux (include/linux/namei.h).
_MAX_LINKS = 40
_PATH_MAX = 4096


class FileSystem(Struct, frozen=True):
    """A file system.

    Attributes:
        root: the directory that is its `/`, absolute and without links; empty for this machine's own.
        shown: the same as the user wrote it.
    """

    root: str = ""
    shown: str = ""

    def host(self, path: str) -> str:
        """Where a path is on this machine; free of links where there is another root.

        Raises:
            FileNotFoundError: with ELOOP, its links lead nowhere; with ENAMETOOLONG, it is longer than a path can be.
        """
        return path if not self.root else self.root + self.real(path)

    def real(self, path: str) -> str:
        """The path without links (realpath(3)), of this file system; what is not there stands for itself.

        Raises:
            FileNotFoundError: as `host`.
        """
        if not self.root:
            return os.path.realpath(path)
        return "/" + "/".join(self._follow(path))

    def _follow(self, path: str) -> list[str]:
        """The names down to where the path leads, none of them a link; where something is missing, its last names as
        they stand."""
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
                    return [*done, name]  # which cannot be opened
                if name == "..":
                    del done[-1:]
                continue
            try:
                target = os.readlink(f"{here}/{name}")
            except OSError as error:
                done.append(name)
                if error.errno != errno.EINVAL:  # there is no such name; EINVAL: it is no link
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
        """The path of this file system that a user means: one of this machine that lies below the root is meant as
        such, any other as the file system has it.

        Args:
            cwd: the directory of this machine in which the user stands.
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
        """As os.path.lexists: a link is enough, wherever it leads."""
        directory, name = os.path.split(path.rstrip("/") or "/")
        try:
            return os.path.lexists(os.path.join(self.host(directory), name))
        except FileNotFoundError:
            return False

    def read(self, path: str, limit: int) -> bytes | None:
        """The first `limit` bytes of a file; None where there is none that can be read, a FIFO included, which may
        never answer."""
        try:
            host = self.host(path)
            if not os.path.isfile(host):
                return None
            with open(host, "rb") as file:
                # Room for all that is asked for is made before it is read. What the kernel makes up has no size.
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
        """Paths of what in a directory has a name that matches a shell pattern, sorted; none where it cannot be
        listed."""
        try:
            names = self.names(directory)
        except OSError:
            return []
        import fnmatch

        return [f"{directory}/{name}" for name in sorted(fnmatch.filter(names, pattern))]


# This machine's own.
HERE = FileSystem()


def file_type(mode: int) -> str:
    """What a file is that is no regular one, in words (sys/stat.h of POSIX).

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
    """Which user a file belongs to, in words, where that is neither the user of this process nor root; else None.

    Args:
        status: of the opened file (fstat(2)): at the path there may be another one by now.
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


def why_not_own(directory: str) -> str | None:
    """Why other users may have put files into a directory, in words; None where they may not, or it is not there."""
    try:
        status = os.stat(directory)
    except OSError:
        return None
    return other_owner(status) or ("every user can write to it" if status.st_mode & stat.S_IWOTH else None)


def is_world_writable(directory: str) -> bool:
    """Whether every user may put files into a directory; the sticky bit of /tmp does not prevent that (inode(7))."""
    try:
        return bool(os.stat(directory).st_mode & stat.S_IWOTH)
    except OSError:
        return True
