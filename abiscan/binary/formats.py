"""The binary formats, distinguished by their first bytes."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec import Struct

from abiscan.binary.protocol import Binary
from abiscan.elf.elf_file import ElfFile
from abiscan.elf.opening import map_file, read_elf
from abiscan.elf.sniff import ELF_MAGIC, describe_other
from abiscan.elf.sniff import PEEK_SIZE as ELF_PEEK_SIZE
from abiscan.elf.sniff import peek as peek_elf
from abiscan.errors import UnreadableFile
from abiscan.file_buffer import Sparse
from abiscan.macho.macho_magic import MACHO_MAGICS, peek_macho
from abiscan.macho.macho_magic import PEEK_SIZE as MACHO_PEEK_SIZE
from abiscan.model.facts import BinaryKind
from abiscan.pe.pe_magic import PE_MAGIC, peek_pe
from abiscan.pe.pe_magic import PEEK_SIZE as PE_PEEK_SIZE

if TYPE_CHECKING:
    from abiscan.elf.payloads import Payloads


class BinaryFormat(Struct, frozen=True):
    """A binary format.

    Attributes:
        magics: possible first bytes of its files.
        peek_size: number of bytes that `peek` needs.
        peek: the kind of a file that starts with these bytes; None if it has another format.
        read: contents and name for messages -> the binary; raises UnreadableFile.
    """

    magics: tuple[bytes, ...]
    peek_size: int
    peek: Callable[[bytes], BinaryKind | None]
    read: Callable[[bytes | mmap.mmap | Sparse, str], Binary]


def _read_pe(contents: bytes | mmap.mmap | Sparse, display: str) -> Binary:
    # Imported late: a run over Linux files needs no other reader.
    from abiscan.binary.pe_binary import PeBinary
    from abiscan.pe.pe_file import read_pe

    return PeBinary(read_pe(contents, display))


def _read_macho(contents: bytes | mmap.mmap | Sparse, display: str) -> Binary:
    from abiscan.binary.macho_binary import MachoBinary
    from abiscan.macho.macho_file import read_macho

    return MachoBinary(read_macho(contents, display))


FORMATS = (
    BinaryFormat((ELF_MAGIC,), ELF_PEEK_SIZE, peek_elf, read_elf),
    BinaryFormat((PE_MAGIC,), PE_PEEK_SIZE, peek_pe, _read_pe),
    BinaryFormat(MACHO_MAGICS, MACHO_PEEK_SIZE, peek_macho, _read_macho),
)
# Number of first bytes that `peek` needs.
PEEK_SIZE = max(each.peek_size for each in FORMATS)


def _find_format(head: bytes) -> BinaryFormat | None:
    return next((each for each in FORMATS if head.startswith(each.magics)), None)


def looks_like_binary(head: bytes) -> bool:
    """Whether the first bytes of a file are those of a binary; a few bytes suffice."""
    return _find_format(head) is not None


def peek(head: bytes) -> BinaryKind | None:
    """The kind of the binary that starts with `head` (PEEK_SIZE bytes, or all of a shorter file); None if it is not a
    binary. Opening the file checks everything again."""
    found = _find_format(head)
    return None if found is None else found.peek(head)


def open_binary(path: str | os.PathLike[str], display: str | None = None, *, copy_up_to: int = 0) -> Binary:
    """Map a file and read its headers.

    Args:
        path: the file on disk; FIFOs, devices and directories are refused without being opened.
        display: its name in messages (default: `path`).
        copy_up_to: files of at most this many bytes are read instead of mapped.

    Raises:
        UnreadableFile: it cannot be opened or is not a shared object or executable; the message names its format.
        FileNotFoundError: it does not exist.
    """
    shown = display if display is not None else os.fspath(path)
    contents = map_file(path, shown, copy_up_to=copy_up_to)
    binary = read_binary(contents, shown)
    if isinstance(binary, ElfFile) and isinstance(contents, mmap.mmap):
        binary.mapped = path
    return binary


def payload_finder(size: int) -> Payloads:
    """A finder of the GPU images in a file of `size` bytes that is being unpacked; `Sparse` is the file without
    them."""
    from abiscan.elf.payloads import Payloads

    return Payloads(size)


def read_binary(contents: bytes | mmap.mmap | Sparse, display: str) -> Binary:
    """As `open_binary`, for contents in memory, such as a member of a wheel.

    Raises:
        UnreadableFile: as `open_binary`.
    """
    head = (contents.buffer if isinstance(contents, Sparse) else contents)[:512]
    found = _find_format(head)
    if found is None:
        raise UnreadableFile(display, describe_other(head))
    return found.read(contents, display)
