"""Reads facts from the bytes of one ELF file. Nothing here knows torch, Python or the machine.

Structures follow the System V gABI (https://refspecs.linuxfoundation.org/elf/gabi4+/contents.html), symbol versions the
Linux Standard Base (LSB core generic, chapter 10.7), DT_GNU_HASH the description by its author
(https://sourceware.org/legacy-ml/binutils/2006-10/msg00377.html).
"""

from __future__ import annotations

from abiscan.elf.elf_file import ElfFile
from abiscan.elf.hashing import gnu_hash, gnu_hashes, sysv_hash
from abiscan.elf.opening import open_elf, read_elf
from abiscan.elf.sniff import looks_like_elf
from abiscan.elf.symbols import RawSymbol
from abiscan.elf.version_records import SymbolVersion

__all__ = [
    "ElfFile",
    "RawSymbol",
    "SymbolVersion",
    "gnu_hash",
    "gnu_hashes",
    "looks_like_elf",
    "open_elf",
    "read_elf",
    "sysv_hash",
]
