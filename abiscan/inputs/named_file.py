"""Files that a user names beside the targets (lists, baselines, configurations): read within a limit."""

from __future__ import annotations

import os
import select
import stat

from abiscan.errors import UsageError
from abiscan.filesystem import file_type
from abiscan.model.limits import MAX_PIPE_SILENCE, MAX_TEXT_FILE


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
        pipes: whether it may be a pipe, such as a shell's `<(...)`, which is read until its last writer closes it.

    Raises:
        FileNotFoundError: nothing is there.
        UsageError: it cannot be read, is not a regular file, or is larger than MAX_TEXT_FILE; a pipe was silent for
            MAX_PIPE_SILENCE.
    """
    try:
        # O_NONBLOCK: opening a FIFO that has no writer would block without a time limit.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UsageError(f"{path}: {what} cannot be read: {_words(error)}") from error
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode) and not (pipes and (stat.S_ISFIFO(mode) or os.isatty(descriptor))):
            raise UsageError(f"{path}: {what} cannot be read: it is {file_type(mode)}, not a file")
        return _read(descriptor, path, what)
    except OSError as error:
        raise UsageError(f"{path}: {what} cannot be read: {_words(error)}") from error
    finally:
        os.close(descriptor)


def _read(descriptor: int, path: str, what: str) -> bytes:
    parts: list[bytes] = []
    total = 0
    # Reading a FIFO that no writer has opened yet returns nothing, as at its end; poll waits for the first writer
    # (fifo(7); Linux, fs/pipe.c, `pipe_poll`: POLLHUP only after a writer has come and gone).
    waits = select.poll()
    waits.register(descriptor, select.POLLIN)
    while True:
        if not waits.poll(MAX_PIPE_SILENCE * 1000):
            raise UsageError(f"{path}: {what} cannot be read: no data from the pipe for {MAX_PIPE_SILENCE} s")
        try:
            part = os.read(descriptor, 1 << 20)
        except BlockingIOError:  # another reader of the pipe was faster
            continue
        if not part:
            return b"".join(parts)
        parts.append(part)
        total += len(part)
        if total > MAX_TEXT_FILE:
            raise UsageError(f"{path}: {what} cannot be read: larger than {MAX_TEXT_FILE >> 20} MiB")


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
