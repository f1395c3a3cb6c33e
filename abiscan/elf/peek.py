"""What the first kilobyte of a file tells: shared object or something else that is ELF too.

For deciding which of a tree's thousands of files are opened at all; whoever opens one checks everything again.
"""

from __future__ import annotations

from typing import Literal

from abiscan.elf.sniff import looks_like_elf
from abiscan.model.facts import BinaryKind

# As many bytes of a file as `peek` looks at: the ELF header and a dozen program headers.
PEEK_SIZE = 1024

_PT_INTERP = 3
# Device code is packed as ELF shared objects as well (.hsaco, .cubin); no loader of the host opens those.
_DEVICE_MACHINES = frozenset({190, 224})  # EM_CUDA, EM_AMDGPU


def peek(head: bytes) -> BinaryKind | None:
    """The kind of the ELF file that starts with `head` (PEEK_SIZE bytes, or all of a shorter file); None if it is no
    ELF file. A position-independent executable is told from a shared object by its PT_INTERP, which a few libraries
    (libc.so.6) have as well: trust a name that says `.so` over EXECUTABLE.
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
