"""Files that a user names beside the targets (lists, baselines, configurations): read within a limit."""

from __future__ import annotations

import os
import select
import stat

from abiscan.errors import UsageError
from abiscan.model.limits import MAX_TEXT_FILE

# Seconds to wait for the first byte of a pipe that somebody has open for writing.
_PATIENCE = 30


def read_text(path: str, what: str) -> str:
    """The text of a file.

    Raises:
        FileNotFoundError, UsageError: as `read_named`; it is not UTF-8.
    """
    try:
        return read_named(path, what).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path}: {what} cannot be read: it is not UTF-8 text (byte {error.start})") from error


def read_named(path: str, what: str, *, pipes: bool = False) -> bytes:
    """The bytes of a file.

    Args:
        what: how to call it in messages ("the baseline").
        pipes: whether it may be a pipe, such as a shell's `<(...)`.

    Raises:
        FileNotFoundError: nothing is there.
        UsageError: it cannot be read, is no regular file, or larger than MAX_TEXT_FILE.
    """
    try:
        # O_NONBLOCK: opening a FIFO that nobody writes to would wait for ever.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: {what} cannot be read: {_words(error)}") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) and not (pipes and (stat.S_ISFIFO(mode) or os.isatty(descriptor))):
            raise UsageError(f"{path}: {what} cannot be read: it is {_kind(mode)}, not a file")
        return _read(descriptor, path, what)
    except OSError as error:
        raise UsageError(f"{path}: {what} cannot be read: {_words(error)}") from error
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: str, what: str) -> bytes:
    parts: list[bytes] = []
    total = 0
    while True:
        try:
            part = os.read(descriptor, 1 << 20)
        except BlockingIOError:
            if not select.select([descriptor], [], [], _PATIENCE)[0]:
                raise UsageError(f"{path}: {what} cannot be read: nothing came for {_PATIENCE} s") from None
            continue
        if not part:
            return b"".join(parts)
        parts.append(part)
        total += len(part)
        if total > MAX_TEXT_FILE:
            raise UsageError(f"{path}: {what} cannot be read: larger than {MAX_TEXT_FILE >> 20} MiB")


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "a directory"
    return "a named pipe" if stat.S_ISFIFO(mode) else "a device"


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
