"""Opens ELF files: mapped from a path, or from bytes in memory."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from abiscan.elf.elf_file import ElfFile
from abiscan.elf.sniff import describe_other
from abiscan.errors import UnreadableFile, os_error_words
from abiscan.file_buffer import Sparse
from abiscan.filesystem import READ_ONLY, file_type

if TYPE_CHECKING:
    import mmap

# Bytes of a file from which GPU images are looked for before it is read.
_LARGE = 4 << 20


def open_elf(path: str | os.PathLike[str], display: str | None = None) -> ElfFile:
    """Map a file and read its headers.

    Args:
        path: the file on disk; FIFOs, devices and directories are refused without being opened.
        display: its name in messages (default: `path`).

    Raises:
        UnreadableFile: it cannot be opened or is not an ELF file with a dynamic section.
        FileNotFoundError: it does not exist.
    """
    shown = display if display is not None else os.fspath(path)
    contents = map_file(path, shown)
    assert not isinstance(contents, Sparse), "only of files that are copied"
    return ElfFile(contents, shown, mapped=path)


def read_elf(data: bytes | mmap.mmap | Sparse, display: str) -> ElfFile:
    """As `open_elf`, for bytes in memory, such as a member of a wheel.

    Raises:
        UnreadableFile: as `open_elf`.
    """
    if not isinstance(data, Sparse):
        return ElfFile(data, display)
    from abiscan.elf.sparse import is_readable

    sparse = replace(data, whole=cache(data.whole))
    if not data.left_out:
        return ElfFile(data.buffer, display, sparse)
    with suppress(UnreadableFile):
        elf = ElfFile(data.buffer, display, sparse)
        if is_readable(elf, sparse):
            return elf
    return ElfFile(sparse.whole(), display)


def map_file(path: str | os.PathLike[str], shown: str, *, copy_up_to: int = 0) -> bytes | mmap.mmap | Sparse:
    """Map a file of any format.

    Args:
        shown: its name in messages.
        copy_up_to: files of at most this many bytes are read instead of mapped, large ones without their GPU images: a
            file that shrinks under a map kills the process.

    Raises:
        UnreadableFile: it is empty or not a regular file, or cannot be opened.
        FileNotFoundError: it does not exist.
    """
    import mmap

    try:
        # O_NONBLOCK: between a check and the opening a FIFO could take the file's place and block forever.
        descriptor = os.open(path, READ_ONLY)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableFile(shown, f"cannot be opened: {os_error_words(error)}") from error
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile(shown, f"{file_type(status.st_mode)}, not a shared object")
        if status.st_size == 0:
            raise UnreadableFile(shown, describe_other(b""))
        if status.st_size <= copy_up_to:
            return _read(path, descriptor, status.st_size, shown)
        return mmap.mmap(descriptor, 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise UnreadableFile(shown, f"cannot be read: {os_error_words(error)}") from error
    finally:
        os.close(descriptor)


def _read(path: str | os.PathLike[str], descriptor: int, size: int, shown: str) -> bytes | Sparse:
    if size >= _LARGE:
        from abiscan.elf.read_without_images import read_without_images

        found = read_without_images(path, descriptor, size, shown)
        if found is not None:
            return found
    data = os.read(descriptor, size)
    while len(data) < size:
        part = os.read(descriptor, size - len(data))
        if not part:
            raise UnreadableFile(shown, "it became shorter while it was read")
        data += part
    return data
