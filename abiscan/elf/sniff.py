"""The kind of a file from its first bytes: which kind of ELF file, or which other format, in words that a user
recognises.

`peek` decides which of a tree's thousands of files are opened at all; opening checks everything again.
"""

from __future__ import annotations

from typing import Literal

from abiscan.model.facts import BinaryKind

ELF_MAGIC = b"\x7fELF"
# Number of bytes that `peek` needs: the ELF header and a dozen program headers.
PEEK_SIZE = 1024

_PT_INTERP = 3
# Device code is packed as ELF shared objects as well (.hsaco, .cubin); no host loader opens those.
_DEVICE_MACHINES = frozenset({190, 224})  # EM_CUDA, EM_AMDGPU

_MAGICS: tuple[tuple[bytes, str], ...] = (
    (b"!<arch>\ndebian-binary", "a Debian package: unpack it with `dpkg-deb -x FILE DIRECTORY` and name the directory"),
    (b"\xed\xab\xee\xdb", "an RPM package: unpack it with `rpm2cpio FILE | cpio -id` and name the directory"),
    (b"!<arch>\n", "a static library (ar archive), not a shared object: link it into one first"),
    (b"!<thin>\n", "a thin static library (ar archive), not a shared object: link it into one first"),
    (b"BC\xc0\xde", "LLVM bitcode: compile and link it into a shared object first"),
    (b"PK\x03\x04", "a zip archive that is named like a shared object"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\x1f\x8b", "gzip data: decompress it first"),
    (b"\xfd7zXZ\x00", "xz data: decompress it first"),
    (b"(\xb5/\xfd", "zstd data: decompress it first"),
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself: fetch it with `git lfs pull`"),
)

_LINKER_SCRIPT_WORDS = (b"GROUP", b"INPUT", b"OUTPUT_FORMAT", b"GNU ld script")


def looks_like_elf(head: bytes) -> bool:
    """Whether the first bytes of a file are those of an ELF file."""
    return head.startswith(ELF_MAGIC)


def peek(head: bytes) -> BinaryKind | None:
    """The kind of the ELF file that starts with `head` (PEEK_SIZE bytes, or all of a shorter file); None for other
    formats.

    PT_INTERP distinguishes a position-independent executable from a shared object, but a few libraries (libc.so.6) have
    it as well: trust a name that contains `.so` over EXECUTABLE.
    """
    if not looks_like_elf(head):
        return None
    if len(head) < 52 or head[4] not in (1, 2) or head[5] not in (1, 2):
        return BinaryKind.UNKNOWN
    order: Literal["little", "big"] = "little" if head[5] == 1 else "big"
    is64 = head[4] == 2

    def number(at: int, size: int) -> int:
        return int.from_bytes(head[at : at + size], order)

    if number(18, 2) in _DEVICE_MACHINES:
        return BinaryKind.DEVICE_CODE
    match number(16, 2):
        case 1:  # ET_REL
            return BinaryKind.OBJECT
        case 2:  # ET_EXEC
            return BinaryKind.EXECUTABLE
        case 4:  # ET_CORE
            return BinaryKind.CORE
        case 3:  # ET_DYN
            pass
        case _:
            return BinaryKind.UNKNOWN
    table, entry, count = (
        (number(32, 8), number(54, 2), number(56, 2)) if is64 else (number(28, 4), number(42, 2), number(44, 2))
    )
    for index in range(min(count, 16)):
        at = table + index * entry
        if at + 4 > len(head):
            break
        if number(at, 4) == _PT_INTERP:
            return BinaryKind.EXECUTABLE
    return BinaryKind.SHARED_OBJECT


def describe_other(head: bytes) -> str:
    """Describe a file that is not an ELF file by its first bytes (up to 512)."""
    if not head:
        return "empty file: build or copy it again"
    for magic, words in _MAGICS:
        if head.startswith(magic):
            return words
    if head.startswith(ELF_MAGIC[: len(head)]) and len(head) < len(ELF_MAGIC):
        return "truncated ELF file: it ends inside its first four bytes"
    if not head.strip(b"\0"):
        return "not an ELF file: it starts with zero bytes (an interrupted copy or a sparse file)"
    if b"\0" not in head:
        if any(word in head for word in _LINKER_SCRIPT_WORDS):
            return "a linker script (text), not a shared object: name the library that it points to"
        return "not an ELF file: it is text"
    return f"not an ELF file: it starts with the bytes {head[:4].hex(' ')}"
