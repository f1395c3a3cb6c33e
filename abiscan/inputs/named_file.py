"""Reads files that a user names besides the inputs (lists, baselines, configurations), within a limit."""

from __future__ import annotations

import errno
import os
import select
import stat

from abiscan.errors import UsageError, os_error_words
from abiscan.filesystem import READ_ONLY, file_type, is_world_writable, other_owner
from abiscan.model.limits import MAX_PIPE_SILENCE, MAX_TEXT_FILE


class OtherUsersFile(UsageError):  # noqa: N818 - the name states the fact, as in FileNotFoundError's family
    """A file that another user owns or may have created.

    Attributes:
        reason: the reason without the path.
    """

    def __init__(self, path: str, what: str, reason: str) -> None:
        super().__init__(f"{path}: {what} is not used: {reason}")
        self.reason = reason


def read_text(path: str, what: str, *, own: bool = False) -> str:
    """Read the text of a file.

    Args:
        own: as for `read_named`.

    Raises:
        FileNotFoundError, UsageError: as `read_named`; or it is not UTF-8.
    """
    try:
        return read_named(path, what, own=own).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: {what} cannot be read: it is not UTF-8 text (byte {error.start})") from error


def read_named(path: str, what: str, *, pipes: bool = False, own: bool = False, limit: int = MAX_TEXT_FILE) -> bytes:
    """Read the bytes of a file.

    Args:
        what: its description in messages ("the baseline").
        pipes: whether it may be a pipe, such as a shell's `<(...)`, which is read until its last writer closes it.
        own: whether it must belong to the user of this process or to root: required for files that affect a verdict but
            are not named on the command line.
        limit: in bytes.

    Raises:
        FileNotFoundError: it does not exist.
        OtherUsersFile: with `own`, it belongs to another user.
        UsageError: it cannot be read, is not a regular file, or is larger than `limit`; or a pipe was silent for
            MAX_PIPE_SILENCE.
    """
    # In a directory that others can write to, a link to a file of this user may be theirs.
    directory = os.path.dirname(path) or "."
    links = not own or _is_own_directory(directory)
    try:
        # O_NONBLOCK: opening a FIFO without a writer would block without a time limit.
        flags = READ_ONLY
        descriptor = os.open(path, flags if links else flags | getattr(os, "O_NOFOLLOW", 0))
    except FileNotFoundError:
        raise
    except OSError as error:
        if error.errno == errno.ELOOP and not links:
            raise OtherUsersFile(path, what, "a symbolic link in a directory that others can write to") from error
        raise UsageError(f"{path}: {what} cannot be read: {os_error_words(error)}") from error
    try:
        status = os.fstat(descriptor)
        mode = status.st_mode
        owner = other_owner(status) if own else None
        if owner is not None:
            raise OtherUsersFile(path, what, owner)
        if not stat.S_ISREG(mode) and not (pipes and (stat.S_ISFIFO(mode) or os.isatty(descriptor))):
            raise UsageError(f"{path}: {what} cannot be read: it is {file_type(mode)}, not a file")
        return _read(descriptor, path, what, limit)
    except OSError as error:
        raise UsageError(f"{path}: {what} cannot be read: {os_error_words(error)}") from error
    finally:
        os.close(descriptor)


def _is_own_directory(directory: str) -> bool:
    try:
        status = os.stat(directory)
    except OSError:
        return False
    return other_owner(status) is None and not is_world_writable(directory)


def _read(descriptor: int, path: str, what: str, limit: int) -> bytes:
    parts: list[bytes] = []
    total = 0
    # Reading a FIFO that no writer has opened yet returns nothing, as at its end; poll waits for the first writer
    # (fifo(7); Linux, fs/pipe.c, `pipe_poll`: POLLHUP only after a writer has come and gone).
    waits = select.poll() if hasattr(select, "poll") else None  # Windows has sockets to wait for, no files
    if waits is not None:
        waits.register(descriptor, select.POLLIN)
    while True:
        if waits is not None and not waits.poll(MAX_PIPE_SILENCE * 1000):
            raise UsageError(f"{path}: {what} cannot be read: no data from the pipe for {MAX_PIPE_SILENCE} s")
        try:
            part = os.read(descriptor, 1 << 20)
        except BlockingIOError:  # another reader of the pipe was faster
            continue
        if not part:
            return b"".join(parts)
        parts.append(part)
        total += len(part)
        if total > limit:
            raise UsageError(f"{path}: {what} cannot be read: larger than {limit >> 20} MiB")
