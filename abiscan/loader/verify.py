"""Whether the loader accepts a file: the checks of `open_verify` and `_dl_map_object_from_fd` in elf/dl-load.c of
glibc, with its messages."""

from __future__ import annotations

import enum
import errno
import mmap

from abiscan.elf import ElfFile
from abiscan.elf.build_marks import wants_executable_stack
from abiscan.elf.dynamic import DF_1_NOOPEN, DF_1_PIE
from abiscan.elf.image import ET_DYN, ET_EXEC, Image
from abiscan.elf.mapping import PT_DYNAMIC, PT_LOAD, Segment
from abiscan.errors import UnreadableFile
from abiscan.loader.failure import LoadFailure
from abiscan.loader.integrity import check_flags, check_hash, check_mapped
from abiscan.loader.linker import RuntimeLinker
from abiscan.model.loading import LoaderStop, StopKind

_MAGIC = b"\x7fELF"
_HEADER = {32: 52, 64: 64}
_PHENTSIZE = {32: 32, 64: 56}
_OSABI_SYSV, _OSABI_GNU = 0, 3
# LIBC_ABI_MAX: number of known ABI versions of ELFOSABI_GNU files (libc-abis). At least this many since glibc 2.26.
_LIBC_ABI_MAX = 5
_PAGE = 4096


class Skip(enum.Enum):
    """Files that the search skips: of the other ELF class, or for another machine."""

    OTHER_CLASS = "class"
    OTHER_MACHINE = "machine"


def verify_header(head: bytes, linker: RuntimeLinker) -> str | Skip | None:
    """The loader's error for a file's first bytes, or why it skips the file; None if it accepts them.

    Args:
        head: the first 64 bytes, fewer if the file has fewer.
    """
    if len(head) < _HEADER[linker.bits]:
        return "file too short"
    if head[:4] != _MAGIC:
        return "invalid ELF header"
    if head[4] != (2 if linker.bits == 64 else 1):
        return Skip.OTHER_CLASS
    other_machine = _number(head, 18, 2, linker) != linker.machine_number
    complaint = _verify_ident(head, linker)
    if complaint is not None:
        # Debian's loader skips files for other machines and of the other byte order if their first 16 bytes have an
        # error (observed with 2.36).
        other_order = head[5] == (2 if linker.little_endian else 1)
        return Skip.OTHER_MACHINE if linker.is_multiarch and (other_machine or other_order) else complaint
    if _number(head, 20, 4, linker) != 1:
        return "ELF file version does not match current one"
    if other_machine:
        return Skip.OTHER_MACHINE
    if _number(head, 16, 2, linker) not in (ET_DYN, ET_EXEC):
        return "only ET_DYN and ET_EXEC can be loaded"
    if _number(head, 54 if linker.bits == 64 else 42, 2, linker) != _PHENTSIZE[linker.bits]:
        return "ELF file's phentsize not the expected size"
    return None


def _verify_ident(head: bytes, linker: RuntimeLinker) -> str | None:
    """The loader's error for e_ident after its class."""
    if head[5] != (1 if linker.little_endian else 2):
        return f"ELF file data encoding not {'little' if linker.little_endian else 'big'}-endian"
    if head[6] != 1:
        return "ELF file version ident does not match current one"
    if head[7] not in (_OSABI_SYSV, _OSABI_GNU):
        return "ELF file OS ABI invalid"
    if head[8] != 0 and not (head[7] == _OSABI_GNU and head[8] < _LIBC_ABI_MAX):
        return "ELF file ABI version invalid"
    if any(head[9:16]):
        return "nonzero padding in e_ident"
    return None


def verify_object(elf: ElfFile, path: str, linker: RuntimeLinker, *, stack_is_executable: bool) -> None:
    """Check a file with an accepted header as the loader does while it maps the file.

    Args:
        path: the loader's name of it.
        stack_is_executable: whether the stack of the process is executable already.

    Raises:
        LoadFailure, Undecidable: the load fails here, or may fail.
    """
    problem = _verify_segments(elf.image.segments, elf.image.type)
    if problem is not None:
        raise _invalid(path, problem)
    check_mapped(elf, path)
    flags = elf.dynamic.flags_1
    if flags & DF_1_PIE:
        raise _invalid(path, "cannot dynamically load position-independent executable")
    if flags & DF_1_NOOPEN:
        raise _invalid(path, "shared object cannot be dlopen()ed")
    if not stack_is_executable and linker.at_least(2, 41) and wants_executable_stack(elf.image):
        # glibc 2.41 no longer changes the stack of a running process (elf/dl-load.c).
        raise _invalid(path, "cannot enable executable stack as shared object requires", errno.EINVAL)
    check_flags(elf, path)
    check_hash(elf, path)


def _invalid(path: str, words: str, number: int = 0) -> LoadFailure:
    return LoadFailure(LoaderStop(StopKind.INVALID_FILE, path, detail=words, errno=number))


def _verify_segments(segments: tuple[Segment, ...], kind: int) -> str | None:
    loads = [s for s in segments if s.type == PT_LOAD]
    for segment in loads:
        if (segment.address - segment.offset) % _PAGE:
            return "ELF load command address/offset not page-aligned"
    if not loads:
        return "object file has no loadable segments"
    if kind != ET_DYN:
        return "cannot dynamically load executable"
    dynamic = [s for s in segments if s.type == PT_DYNAMIC]
    if not dynamic or any(s.file_size == 0 for s in dynamic):
        return "object file has no dynamic section"
    return None


def headers_unread(buffer: bytes | mmap.mmap, linker: RuntimeLinker) -> int | None:
    """errno (0 for a short read) if the loader cannot read the program headers of a file with an accepted header: it
    uses one read, and the system takes the offset as signed. None if it can."""
    at, size, count_at = (32, 8, 56) if linker.bits == 64 else (28, 4, 44)
    offset, count = _number(buffer, at, size, linker), _number(buffer, count_at, 2, linker)
    length = count * _PHENTSIZE[linker.bits]
    if not count or offset + length <= len(buffer):
        return None
    return errno.EINVAL if offset + length >= 1 << 63 else 0


def verify_damaged(buffer: bytes | mmap.mmap, path: str) -> str | None:
    """As `verify_object`, for a file with an accepted header that `ElfFile` refuses: the loader's error, or None if it
    reports none before it maps the file (the rest depends on which pages it touches)."""
    try:
        image = Image(buffer, path)
    except UnreadableFile:
        return None
    return _verify_segments(image.segments, image.type)


def _number(buffer: bytes | mmap.mmap, at: int, size: int, linker: RuntimeLinker) -> int:
    return int.from_bytes(buffer[at : at + size], "little" if linker.little_endian else "big")
