"""Whether the first instructions of a function that the loader calls certainly end the process (x86-64).

Instructions are followed until control flow depends on a register, on memory or on another file. Their reads and writes
are not modelled.
"""

from __future__ import annotations

from msgspec import Struct

from abiscan.elf import ElfFile
from abiscan.elf.mapping import PF_W, PF_X, Area, area_at, is_unmapped, page_end
from abiscan.elf.x86_instructions import Instruction, instructions
from abiscan.loader.failure import Undecidable, crash
from abiscan.loader.written_words import memory_bytes

# Longest instruction in bytes; number of bytes of a read, and number of reads.
_LONGEST, _STRETCH, _STRETCHES = 15, 48, 4
# First bytes that raise a signal in user mode on x86-64 with any register contents: invalid opcodes, breakpoints,
# ring 0 instructions (Intel SDM volume 2; volume 1, 19.5).
_FAULTING = frozenset(
    bytes.fromhex("06 07 0e 16 17 1e 1f 27 2f 37 3f 60 61 82 9a ce d4 d6 ea")
    + bytes.fromhex("cc f1")
    + bytes.fromhex("6c 6d 6e 6f e4 e5 e6 e7 ec ed ee ef f4 fa fb")
)
# The same after 0F: UD0 to UD2, CLTS, SYSRET, INVD, WBINVD, RDMSR, WRMSR, moves of control and debug registers, and
# opcodes that no processor has had.
_FAULTING_BEHIND_0F = frozenset(
    bytes.fromhex("0b b9 ff 06 07 08 09 30 32 20 21 22 23") + bytes.fromhex("04 0a 0c 24 25 26 27 36 39 3b 3c 3d 3e 3f")
)
_LOCK, _ESCAPE, _INTERRUPT, _SYSTEM_CALL = 0xF0, 0x0F, 0xCD, 0x80
_PREFIXES = bytes.fromhex("26 2e 36 3e 64 65 66 67 f0 f2 f3")
# First bytes with which one of these, or a run of zeros, may begin.
_SUSPICIOUS = frozenset(bytes((byte,)) for byte in (*_FAULTING, *_PREFIXES, *range(0x40, 0x50), _ESCAPE, _INTERRUPT, 0))
# LOCK is valid only for instructions that read and write memory; these have no memory operand.
_NEVER_LOCKED = frozenset((*range(0x50, 0x60), *range(0x90, 0x98), 0xC3, 0xC9, 0xE8, 0xE9, 0xEB))
# The relative jump and call, and what ends the known way: branches, returns, indirect calls and jumps, system calls.
_RELATIVE = frozenset((0xE8, 0xE9, 0xEB))
_LEAVING = frozenset((*range(0x70, 0x80), *range(0xE0, 0xE4), 0xC2, 0xC3, 0xC8, 0xCA, 0xCB, 0xCD, 0xCF, 0xFF)) | {
    *(0x0F05, 0x0F34, 0x0F35, 0x0F01, 0x0FAA),
    *range(0x0F80, 0x0F90),
}
# Opcodes that AMD's and Intel's processors give another length, or that begin a transaction, whose end is elsewhere.
_UNSURE = frozenset((0x8F, 0xC6, 0xC7, 0x0F0F, 0x0F78, 0x0F79))


class CalledFile(Struct, frozen=True):
    """The memory of a file at the time of the call.

    Attributes:
        areas: memory areas, with RELRO applied if the file is relocated.
        tables: (start, end) of tables of the file, which contain no code.
    """

    elf: ElfFile
    path: str
    areas: tuple[Area, ...]
    tables: tuple[tuple[int, int], ...]


def check_beginning(called: CalledFile, address: int, what: str) -> None:
    """Check a call of an address in code of the file.

    Args:
        what: the function, for a message.

    Raises:
        LoadFailure: the call certainly ends the process.
        Undecidable: it reaches zero bytes (`add %al, (%rax)` again and again) and other code follows.
    """
    elf, path = called.elf, called.path
    at = address
    for _ in range(_STRETCHES):
        way = f"its {what} at {address:#x}" + (f" goes on to {at:#x}," if at != address else "")
        area = area_at(called.areas, at)
        if area is None or any(start <= at < end for start, end in called.tables):
            if area is None and is_unmapped(elf.image.loads, at):
                raise crash(path, f"{way} where nothing is mapped")
            return
        if not area.flags & PF_X:
            raise crash(path, f"{way} which is no code")
        if area.flags & PF_W or elf.dynamic.has_text_relocations:
            # The code may change itself.
            _check_first(called, memory_bytes(elf, called.areas, at, _LONGEST), at, address, what)
            return
        following = _follow(called, at, address, what)
        if following is None:
            return
        at = following


def _follow(called: CalledFile, at: int, address: int, what: str) -> int | None:
    """Follow the instructions from `at` to the next known address; None if it is unknown."""
    code = memory_bytes(called.elf, called.areas, at, _STRETCH)
    place = 0
    decoded = instructions(code)
    while place < _STRETCH - _LONGEST:
        if code[place : place + 1] in _SUSPICIOUS:
            _check_first(called, code[place:], at + place, address, what)
        found = next(decoded, None)
        if found is None and place == len(code):
            break
        if found is None or _leaves(found, code):
            return None
        place = found.end
        if found.opcode in _RELATIVE:
            place += found.displacement
            break
    return at + place


def _leaves(found: Instruction, code: bytes) -> bool:
    """Whether the next instruction is unknown."""
    opcode = found.opcode
    if opcode in _RELATIVE:
        # After 66 the distance has two bytes on some processors.
        return 0x66 in code[found.start : found.end]
    return opcode in _LEAVING or (opcode in _UNSURE and (opcode > 0xFF or found.reg & 7 != 0))


def _check_first(called: CalledFile, code: bytes, at: int, address: int, what: str) -> None:
    """Check that an instruction does not fault and is not zero bytes."""
    way = f"its {what} at {address:#x}" + (f" goes on to {at:#x}, which" if at != address else "")
    opcode = code.lstrip(_PREFIXES)
    prefixes = code[: len(code) - len(opcode)]
    if opcode and opcode[0] & 0xF0 == 0x40:  # REX
        opcode = opcode[1:]
    length = len(code) - len(opcode)
    first, second = [*opcode[:2], -1, -1][:2]
    faults = first in _FAULTING or (_LOCK in prefixes and first in _NEVER_LOCKED)
    if first == _ESCAPE:
        length, faults = length + 1, faults or second in _FAULTING_BEHIND_0F
    elif first == _INTERRUPT:
        length, faults = length + 1, second not in (-1, _SYSTEM_CALL)
    if faults:
        raise crash(called.path, f"{way} begins with an instruction that ends the process ({code[: length + 1].hex()})")
    if code[:2].strip(b"\0"):
        return
    end = _end_of_zeros(called, at)
    if end is None:
        raise Undecidable(f"{called.path}: {way} begins with zero bytes")
    # Wherever the zeros write, execution reaches the end of the code.
    raise crash(called.path, f"{way} is zero bytes up to the end of the code at {end:#x}")


def _end_of_zeros(called: CalledFile, address: int) -> int | None:
    """The end of the code if it is zero from an address on; None if other bytes, or code of another file, may
    follow."""
    at = address
    for area in called.areas:
        if area.end <= at:
            continue
        if area.start > at or not area.flags & PF_X:
            break
        if area.offset is not None and not _is_zero(called.elf, area, at):
            return None
        at = area.end
    loads = called.elf.image.loads
    return at if at < page_end(loads[-1].address + loads[-1].memory_size) else None


_STEP = 1 << 16


def _is_zero(elf: ElfFile, area: Area, start: int) -> bool:
    at, end = start - area.start + (area.offset or 0), area.end - area.start + (area.offset or 0)
    return all(not elf.image[part : min(part + _STEP, end)].strip(b"\0") for part in range(at, end, _STEP))
